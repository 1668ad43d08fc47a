import os
import socket
import struct
import threading

import pytest

from code_env.harness.wire.channel import (
    CHANNEL_VARIABLE,
    MAX_FRAME_BYTES,
    Channel,
    ChannelError,
    ChannelTimeout,
    Kind,
    open_channel,
    parse_json,
)

WAIT_S = 20.0


@pytest.fixture(params=["pipe", "socketpair"])
def ends(request):
    """The descriptor to read from and the one to write to."""
    pair = os.pipe() if request.param == "pipe" else [end.detach() for end in socket.socketpair()]
    fds = list(pair)
    yield fds
    for fd in fds:
        if fd is not None:
            os.close(fd)


def close_writer(ends):
    os.close(ends[1])
    ends[1] = None


def frame(kind, payload, length=None):
    return struct.pack(">IB", len(payload) if length is None else length, kind) + payload


@pytest.mark.parametrize(
    "payload", [b"", b"a", b"\0\xff\n", bytes(range(256)) * 100], ids=["empty", "one-byte", "binary", "long"]
)
def test_a_frame_comes_as_it_went(ends, payload):
    Channel(ends[1]).send(Kind.MESSAGE, payload)
    assert Channel(ends[0]).receive(WAIT_S) == (Kind.MESSAGE, payload)


def test_a_frame_larger_than_every_buffer_comes_whole(ends):
    payload = os.urandom(3_000_000)
    sender = threading.Thread(target=Channel(ends[1]).send, args=(Kind.OUTPUT, payload))
    sender.start()
    received = Channel(ends[0]).receive(WAIT_S)
    sender.join()
    assert received == (Kind.OUTPUT, payload)


def test_a_frame_of_the_greatest_length_comes_whole(ends):
    payload = bytes(MAX_FRAME_BYTES)
    sender = threading.Thread(target=Channel(ends[1]).send, args=(Kind.OUTPUT, payload))
    sender.start()
    received = Channel(ends[0]).receive(WAIT_S)
    sender.join()
    assert received == (Kind.OUTPUT, payload)


def test_frames_keep_their_order_and_kind(ends):
    sender, receiver = Channel(ends[1]), Channel(ends[0])
    sent = [(Kind.HELLO, b""), (Kind.OUTPUT, b"one"), (Kind.OUTPUT, b""), (Kind.ENDED, b"{}"), (255, b"x"), (0, b"")]
    for kind, payload in sent:
        sender.send(kind, payload)
    assert [receiver.receive(WAIT_S) for _ in sent] == sent


def test_several_frames_in_one_read_are_told_apart(ends):
    os.write(ends[1], frame(1, b"one") + frame(2, b"") + frame(3, b"three") + frame(4, b"four")[:6])
    receiver = Channel(ends[0])
    assert receiver.fill()
    assert [receiver.pop() for _ in range(4)] == [(1, b"one"), (2, b""), (3, b"three"), None]
    os.write(ends[1], frame(4, b"four")[6:])
    assert receiver.receive(WAIT_S) == (4, b"four")


def test_a_frame_written_byte_by_byte_comes_whole(ends):
    receiver = Channel(ends[0])
    whole = frame(7, b"payload")
    for byte in whole[:-1]:
        os.write(ends[1], bytes([byte]))
        assert receiver.fill()
        assert receiver.pop() is None
    os.write(ends[1], whole[-1:])
    assert receiver.receive(WAIT_S) == (7, b"payload")


def test_without_frames_there_is_none_to_pop(ends):
    assert Channel(ends[0]).pop() is None


def test_a_channel_says_its_descriptor(ends):
    assert Channel(ends[0]).fileno() == ends[0]


def test_the_end_between_frames_is_none(ends):
    Channel(ends[1]).send(1, b"last")
    close_writer(ends)
    receiver = Channel(ends[0])
    assert receiver.receive(WAIT_S) == (1, b"last")
    assert receiver.receive(WAIT_S) is None
    assert receiver.receive() is None


@pytest.mark.parametrize("cut", [1, 4, 5, 8], ids=lambda cut: f"after-{cut}-bytes")
def test_the_end_within_a_frame_is_an_error(ends, cut):
    os.write(ends[1], frame(1, b"payload")[:cut])
    close_writer(ends)
    with pytest.raises(ChannelError, match="in the middle of a frame"):
        Channel(ends[0]).receive(WAIT_S)


@pytest.mark.parametrize("length", [MAX_FRAME_BYTES + 1, 0xFFFFFFFF])
def test_a_frame_that_claims_to_be_too_long_is_refused_at_its_header(ends, length):
    os.write(ends[1], frame(1, b"", length))
    with pytest.raises(ChannelError, match=f"a frame of {length} bytes"):
        Channel(ends[0]).receive(WAIT_S)


def test_a_payload_that_is_too_long_is_not_sent(ends):
    with pytest.raises(ChannelError, match="at most"):
        Channel(ends[1]).send(1, bytes(MAX_FRAME_BYTES + 1))
    Channel(ends[1]).send(2, b"next")
    assert Channel(ends[0]).receive(WAIT_S) == (2, b"next")


def test_silence_ends_in_a_timeout(ends):
    with pytest.raises(ChannelTimeout, match=r"0\.1 s"):
        Channel(ends[0]).receive(0.1)


def test_an_incomplete_frame_ends_in_a_timeout_and_can_still_be_completed(ends):
    receiver = Channel(ends[0])
    os.write(ends[1], frame(1, b"payload")[:7])
    with pytest.raises(ChannelTimeout):
        receiver.receive(0.1)
    os.write(ends[1], frame(1, b"payload")[7:])
    assert receiver.receive(WAIT_S) == (1, b"payload")


def test_a_trickle_of_bytes_does_not_put_off_the_timeout(ends):
    stop = threading.Event()

    def trickle():
        os.write(ends[1], frame(1, b"", 1_000_000))
        while not stop.wait(0.01):
            os.write(ends[1], b"x")

    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        with pytest.raises(ChannelTimeout):
            Channel(ends[0]).receive(0.3)
    finally:
        stop.set()
        thread.join()


def test_a_frame_that_was_read_already_needs_no_time(ends):
    os.write(ends[1], frame(1, b"a") + frame(2, b"b"))
    receiver = Channel(ends[0])
    assert receiver.receive(WAIT_S) == (1, b"a")
    assert receiver.receive(0) == (2, b"b")


def test_sending_to_nobody_is_an_error(ends):
    os.close(ends[0])
    ends[0] = None
    with pytest.raises(ChannelError, match="the other side is gone"):
        Channel(ends[1]).send(1, b"payload")


def test_a_socket_carries_frames_both_ways():
    left, right = socket.socketpair()
    with left, right:
        one, other = Channel(left.fileno()), Channel(right.fileno())
        one.send(1, b"ping")
        other.send(2, b"pong")
        assert (other.receive(WAIT_S), one.receive(WAIT_S)) == ((1, b"ping"), (2, b"pong"))


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -1.5, "", "a\n\0", "é\U0001f600", "\ud800", "\ud83d\ude00", [], [1, [2]], {"a": {"b": None}}],
    ids=ascii,
)
def test_json_comes_as_it_went(ends, value):
    Channel(ends[1]).send_json(Kind.MESSAGE, value)
    kind, payload = Channel(ends[0]).receive(WAIT_S)
    assert kind == Kind.MESSAGE
    assert parse_json(payload) == value


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"{", id="cut-short"),
        pytest.param(b"[1] [2]", id="two-values"),
        pytest.param(b"{'a': 1}", id="python"),
        pytest.param(b'"\xff"', id="not-utf8"),
        pytest.param(b'"\xc3', id="utf8-cut-short"),
        pytest.param(b'"\n"', id="bare-control-character"),
        pytest.param(b"9" * 10_000, id="int-of-many-digits"),
        pytest.param(b"[" * 1_000_000, id="deep-and-open"),
        pytest.param(b"[" * 100_000 + b"]" * 100_000, id="deep-lists"),
        pytest.param(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, id="deep-objects"),
    ],
)
def test_what_is_not_json_or_too_deep_is_a_channel_error(payload):
    with pytest.raises(ChannelError, match="not a JSON payload"):
        parse_json(payload)


def test_the_channel_of_a_peer_is_the_one_in_its_environment(ends, monkeypatch):
    monkeypatch.setenv(CHANNEL_VARIABLE, str(ends[0]))
    assert open_channel().fileno() == ends[0]


def test_a_process_that_is_no_peer_has_no_channel(monkeypatch):
    monkeypatch.delenv(CHANNEL_VARIABLE, raising=False)
    with pytest.raises(ChannelError, match="not a peer"):
        open_channel()


def test_the_kinds_of_frame_are_different_bytes():
    kinds = [value for name, value in vars(Kind).items() if name.isupper()]
    assert len(set(kinds)) == len(kinds) == 11
    assert all(0 <= kind < 256 for kind in kinds)
