"""The container file and the manifest of examples/serve start a server as they are."""

import json
import re

import yaml

from serving.server_process import served
from support import ROOT

FOLDER = ROOT / "examples" / "serve"
SERVICE, SERVERS = yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text())
POD = SERVERS["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]


def test_the_command_of_the_container_serves():
    entry = json.loads(re.search(r"^ENTRYPOINT (.*)$", (FOLDER / "Containerfile").read_text(), re.M)[1])
    assert entry[:2] == ["code-env", "serve"]
    options = [*entry[2:], *CONTAINER["args"]]
    assert options[options.index("--port") + 1] == str(CONTAINER["ports"][0]["containerPort"])
    options[options.index("--port") + 1] = "0"
    with served(*options, token="secret") as server:
        probe = CONTAINER["readinessProbe"]["httpGet"]
        assert server.send("GET", probe["path"])[0] == 200
        assert server.send("GET", "/metrics")[0] == 401


def test_the_parts_of_the_manifest_fit():
    labels = SERVERS["spec"]["template"]["metadata"]["labels"]
    assert SERVICE["spec"]["selector"] == SERVERS["spec"]["selector"]["matchLabels"] == labels
    assert SERVERS["spec"]["serviceName"] == SERVICE["metadata"]["name"]
    ports = {SERVICE["spec"]["ports"][0]["port"], CONTAINER["readinessProbe"]["httpGet"]["port"]}
    assert ports == {CONTAINER["ports"][0]["containerPort"]}
    assert [one["name"] for one in CONTAINER["env"]] == ["CODE_ENV_TOKEN"]
    grace = int(CONTAINER["args"][CONTAINER["args"].index("--grace") + 1])
    assert grace < POD["terminationGracePeriodSeconds"]
    assert (POD["hostUsers"], CONTAINER["securityContext"]["procMount"]) == (False, "Unmasked")
