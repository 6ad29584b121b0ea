"""The ticket triage of the demo: what the answer is to be, and how a model is asked for it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from ..schema import describe


class Ticket(BaseModel):
    """An earlier ticket of the customer."""

    id: int
    topic: str
    tags: list[str]


class Customer(BaseModel):
    """Who writes."""

    name: str
    since: int | None = Field(description="year")
    tickets: list[Ticket] = Field(description="earlier tickets that are mentioned")


class Step(BaseModel):
    """What is to be done."""

    who: Literal["support", "warehouse", "billing"]
    text: str
    minutes: int


class Triage(BaseModel):
    """What a support team wants to know of a ticket."""

    status_summary: str = Field(description="one sentence")
    priority: int = Field(ge=1, le=5, description="1 is the most urgent")
    sentiment: float = Field(ge=-1, le=1)
    escalate: bool
    assignee: str | None
    risk_flags: list[str] = Field(description="a few words each")
    customer: Customer
    next_steps: list[Step]
    reply_draft: str = Field(description="the answer to the customer")


def prompt(ticket: str) -> str:
    """What a model is asked for this ticket."""
    return f"Triage this support ticket.\n\n<ticket>\n{ticket}\n</ticket>\n\n{describe(Triage).prompt}"
