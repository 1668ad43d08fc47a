"""What a server keeps of the programs of a link."""

import asyncio
import json

from code_env import ExecutionResult, Program, Status
from code_env.executors.remote.answering import Answering
from code_env.executors.remote.messages import program_data


def test_nothing_is_kept_of_what_was_cancelled_before_it_began():
    async def link():
        started = []

        async def run(program):
            started.append(program)
            await asyncio.sleep(1000)
            return ExecutionResult(Status.OK)

        answering = Answering(run)
        frame = {
            "forget": [],
            "peers": {},
            "programs": {str(number): program_data(Program("pass")) for number in range(50)},
        }
        answering.take(json.dumps(frame))
        answering.take(json.dumps({"cancel": list(range(50))}))
        await asyncio.sleep(0.01)
        return started, answering._running

    assert asyncio.run(link()) == ([], {})
