"""The channel on which one side is not woken: what the other side's end does to it."""

import os
import socket

import pytest

from code_env.harness.wire.bell_channel import RingingChannel
from code_env.harness.wire.channel import ChannelError, Kind


def test_a_judge_that_has_heard_enough_is_the_end_and_no_error():
    """It may close between the program's last reply and the bell; the program's process must not say a word of it."""
    ours, theirs = socket.socketpair()
    hears, rings = os.pipe()
    channel = RingingChannel(ours.fileno(), rings)
    channel.send(Kind.MESSAGE, b"{}")
    os.close(hears)
    theirs.close()
    assert channel.receive() is None
    with pytest.raises(ChannelError):
        channel.send(Kind.MESSAGE, b"{}" * (1 << 20))
    os.close(rings)
    ours.close()
