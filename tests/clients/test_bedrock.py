"""`boto3`: `converse_stream` and `invoke_model_with_response_stream`. It has no async client of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from clients.checks import ClientTests
from clients.packages import need
from clients.replies import ANSWER
from clients.server import playing
from clients.wire import BEDROCK, BEDROCK_INVOKE, MODEL
from streamparse import wrap

boto3 = need("boto3")


class TestConverse(ClientTests):
    wire = BEDROCK
    bodies = ("bedrock-converse.aws", "bedrock-throttled.aws")
    captures = ("bedrock-converse-*.eventstream.json",)

    @staticmethod
    def ask(client: Any) -> Any:
        messages = [{"role": "user", "content": [{"text": "Triage order 1182."}]}]
        return client.converse_stream(modelId=MODEL, messages=messages)

    @contextmanager
    def sync_call(self, url: str) -> Iterator[Callable[[], Any]]:
        client = boto3.client(
            "bedrock-runtime",
            endpoint_url=url,
            region_name="eu-central-1",
            aws_access_key_id="none",
            aws_secret_access_key="none",
            config=boto3.session.Config(retries={"total_max_attempts": 1}),
        )
        yield lambda: self.ask(client)
        client.close()

    @asynccontextmanager
    async def async_call(self, url: str) -> AsyncIterator[Callable[[], Any]]:
        """The same sync stream, by an async reader."""
        with self.sync_call(url) as call:
            yield call

    def test_the_request_id_is_in_the_headers(self) -> None:
        play = self.play(ANSWER, headers={"x-amzn-RequestId": "req-7"})
        with playing(play) as provider, self.sync_call(provider.url) as call:
            assert wrap(call()).get_response().request_id == "req-7"


class TestInvoke(TestConverse):
    wire = BEDROCK_INVOKE
    bodies = ("bedrock-invoke-*.aws",)
    captures = ("bedrock-invoke-*.eventstream.json",)

    @staticmethod
    def ask(client: Any) -> Any:
        return client.invoke_model_with_response_stream(modelId=MODEL, body=b"{}")
