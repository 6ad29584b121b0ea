# C types of the compiled twin: setup.py compiles machine.py and what belongs to it with them, as streamparse._machine_c.
# Counters are Py_ssize_t, never int: offsets pass 2**31. Attributes that only the machine uses stay public for
# the package tolerance, which both twins share, and for pickling.
cimport cython
from cpython.unicode cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND, PyUnicode_READ

cdef extern from "Python.h":
    void PyObject_GC_UnTrack(object)
    bint PyUnicode_IS_ASCII(object)

cdef extern from *:
    """
    /* Of ASCII text, which most is, without a call: the loop is too long for the compiler to do it. */
    #define CHAR_AT(text, pos) (PyUnicode_IS_COMPACT_ASCII(text) \\
        ? (Py_UCS4)((const unsigned char *)((PyASCIIObject *)(text) + 1))[pos] : PyUnicode_READ_CHAR(text, pos))
    """
    Py_UCS4 CHAR_AT(object text, Py_ssize_t pos)

cdef Py_ssize_t BLOCK, _COPIED
cdef dict _SIMPLE_ESCAPES
cdef bint COMPILED
cdef dict NOWHERE
cdef tuple UNGUIDED


cdef class StreamingData:
    cdef readonly list _field
    cdef readonly str _type
    cdef readonly object _delta
    cdef readonly object _value


@cython.locals(event=StreamingData)
cpdef StreamingData make_event(list field, str event_type, object delta, object value)
@cython.locals(char=Py_UCS4, n=Py_ssize_t, kind=int, data=cython.p_void)
cdef Py_ssize_t plain_end(str text, Py_ssize_t pos) noexcept
@cython.locals(char=Py_UCS4, part=Py_ssize_t)
cdef Py_ssize_t number_kind(str text) noexcept
@cython.locals(char=Py_UCS4, value=cython.longlong)
cdef cython.longlong short_int(str lexeme)
cdef untrack(list field)
@cython.locals(char=Py_UCS4)
cdef bint is_whole(str text) noexcept
@cython.locals(char=Py_UCS4, pos=Py_ssize_t, n=Py_ssize_t)
cpdef Py_ssize_t hex_end(str text, Py_ssize_t start)


cdef class Machine:
    cdef public Py_ssize_t atom_at, barrier, depth, diagnostic_count, held_at, held_line, held_line_start, index, key_barrier, line
    cdef public Py_ssize_t line_start, max_depth, max_document, max_held, max_key, max_number, max_short, max_string, objects, offset, pending
    cdef public Py_ssize_t pos, resume, state, string, undo, comment, told, unique
    cdef public bint final, heeded, hole, in_object, object_root, plain, keep_data, lenient, overrun, plain_numbers, shown, solo, starts, stopped, triple, words
    cdef public str atom, buffer, closers, gap, key, key_closers, number, rest, surrogates, tail, text
    cdef public list diagnostics, doubled, held, key_pieces, last, leaf, node, pieces, incomplete
    cdef public tuple atom_place, needed, origin
    cdef public dict guide, members, memo, others
    cdef public list guides
    cdef public object container, error, holder, limits, tolerance, tolerances

    @cython.locals(
        state=Py_ssize_t, base=Py_ssize_t, end=Py_ssize_t, pending=Py_ssize_t, n=Py_ssize_t, pos=Py_ssize_t,
        lex=Py_ssize_t, quote=Py_ssize_t, stop=Py_ssize_t, back=Py_ssize_t, used=Py_ssize_t, first=Py_ssize_t,
        lines=Py_ssize_t, known=Py_ssize_t, over=bint, over_long=bint, white=bint, common=bint, in_object=bint, half=str, waits=bint, plain=bint, calm=bint, char=Py_UCS4, piece=str, lexeme=str, key=object,
        place=dict, members=dict, out=list, pieces=list, parts=list, leaf=list, event=StreamingData,
    )
    cpdef list feed(self, str text)
    cpdef list read(self, str text)
    @cython.locals(at=Py_ssize_t, lines=Py_ssize_t)
    cpdef hold(self, str text, Py_ssize_t base, Py_ssize_t pending)
    cpdef Py_ssize_t accept(self, list out)
    cpdef Py_ssize_t reject(self, list out)
    cpdef go_back(self, Py_ssize_t behind)
    cpdef forget(self, Py_ssize_t count)
    cpdef Py_ssize_t long_string(self, str text, Py_ssize_t pos, list out)
    cpdef emit(self, str piece, list out)
    cpdef begin_string(self, Py_ssize_t at, list out)
    @cython.locals(pieces=list, event=StreamingData)
    cpdef end_string(self, list out)
    cpdef heed(self, list field, object at, list out)
    @cython.locals(members=dict, items=list)
    cpdef put(self, object key, object value)
    @cython.locals(field=list, place=dict)
    cpdef Py_ssize_t scalar(self, str kind, object lexeme, object value, list out)
    @cython.locals(field=list, place=dict, entry=tuple)
    cpdef push(self, bint is_object, list out)
    @cython.locals(node=list, parent=list, plain=bint, keys=dict, key=str, event=StreamingData)
    cpdef Py_ssize_t pop(self, list out)
    cpdef key_again(self, str text, Py_ssize_t pos, list out)
    cpdef str raw_text(self, str text, Py_ssize_t pos, Py_ssize_t stop)
    cpdef Py_ssize_t odd_key(self, str text, Py_ssize_t pos, Py_ssize_t quote)
    @cython.locals(n=Py_ssize_t, end=Py_ssize_t, low=Py_ssize_t, code=Py_ssize_t, second=Py_ssize_t)
    cpdef Py_ssize_t escape(self, str text, Py_ssize_t pos, list pieces)
    @cython.locals(kind=Py_ssize_t)
    cpdef Py_ssize_t end_atom(self, str lexeme, list out)
    cpdef bint is_atom(self, str lexeme)
    cpdef Py_ssize_t long_atom(self, list out)


cdef class Intake:
    cdef public Machine _machine
    cdef public Py_ssize_t _direct
    cdef public object _stage
    cdef public list _log

    @cython.locals(machine=Machine, event=StreamingData, pieces=list, plain=bint, n=Py_ssize_t, end=Py_ssize_t, state=Py_ssize_t)
    cpdef list feed(self, object chunk)
    cpdef list _tell(self, list events)
