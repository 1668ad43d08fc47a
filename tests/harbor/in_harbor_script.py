"""Called where Harbor is: an agent, and a walk through all that an environment of Harbor's has to do."""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from harbor.agents.nop import NopAgent
from harbor.models.task.config import EnvironmentConfig
from harbor.models.trial.paths import TrialPaths

from code_env.integrations.harbor import CodeEnvironment


class SolvesAndSleeps(NopAgent):
    """An agent that does its work and then takes too long."""

    async def run(self, instruction, environment, context):
        solution = Path(__file__).parent / "tasks/write-a-script/solution"
        await environment.upload_dir(solution, "/solution")
        done = await environment.exec("sh /solution/solve.sh")
        assert done.return_code == 0, done.stdout
        await environment.exec("sleep 1000")


def made(folder, **config):
    trial = TrialPaths(Path(tempfile.mkdtemp()))
    trial.mkdir()
    return CodeEnvironment(folder, "a-task", "a-task__env", trial, EnvironmentConfig(**config))


async def fault_of(awaitable):
    try:
        await awaitable
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


async def main(tasks):
    told = {}
    environment = made(tasks / "write-a-script/environment", memory_mb=128)
    await environment.start(force_build=False)

    async def say(command, **more):
        done = await environment.exec(command, **more)
        return [done.stdout, done.return_code] + ([done.stderr] if done.stderr else [])

    told["where"] = await say("pwd")
    told["elsewhere"] = await say("echo $(pwd) $MORE; exit 3", cwd="/tmp", env={"MORE": "more"})
    told["both streams"] = await say("echo out; echo err >&2")
    told["long"] = await say(f"x={'y' * 200_000}; echo ${{#x}}")
    await say("sleep 1000 & echo $! > /tmp/pid")
    told["time"] = await fault_of(environment.exec("sleep 1000", timeout_sec=1))
    told["stays"] = await say("kill -0 $(cat /tmp/pid) && echo alive")
    told["memory"] = await say("python3 -c 'x = bytearray(1 << 30)'")
    here = Path(tempfile.mkdtemp())
    (here / "up.sh").write_text("#!/bin/sh\necho up\n")
    (here / "up.sh").chmod(0o755)
    await environment.upload_file(here / "up.sh", "/opt/tools/up.sh")
    await environment.download_file("/opt/tools/up.sh", here / "deep/down.sh")
    told["file"] = [(here / "deep/down.sh").read_text(), (await say("/opt/tools/up.sh"))[0]]
    await say("mkdir -p /made/in; cd /made; printf a > a.txt; printf b > in/b.txt; ln -s a.txt link; ln -s /etc out")
    await say("ln -s /made /also")
    await environment.download_dir("/also", here / "made")
    found = [path for path in sorted((here / "made").rglob("*")) if path.is_file()]
    told["folder"] = {str(path.relative_to(here / "made")): path.read_text() for path in found}
    told["not there"] = await fault_of(environment.download_file("/none", here / "none"))
    told["no file"] = await fault_of(environment.download_file("/app", here / "none"))
    several = [environment.exec(f"sleep 0.1; echo {number}") for number in (1, 2, 3)]
    told["at a time"] = [done.stdout for done in await asyncio.gather(*several)]
    running, waiting = (asyncio.create_task(say(command)) for command in ("sleep 0.5; echo whole", "sleep 1000"))
    await asyncio.sleep(0.2)
    waiting.cancel()
    told["another is cancelled"] = (await running)[0]
    running = asyncio.create_task(say("sleep 1000"))
    await asyncio.sleep(0.2)
    running.cancel()
    told["cancelled"] = await say("kill -0 $(cat /tmp/pid) || echo gone")
    await environment.stop(delete=True)
    told["stopped"] = await fault_of(environment.exec("true"))
    for name, content in (("services", "docker-compose.yaml"), ("no image", "other")):
        folder = Path(tempfile.mkdtemp())
        (folder / content).touch()
        try:
            made(folder)
        except Exception as error:
            told[name] = f"{type(error).__name__}: {error}"
    print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
