"""What is checked before JavaScript tests compare deeply, also where only some versions of Node would be misled."""

import json
import subprocess
from importlib.resources import files

COMPARING = files("code_env") / "harness" / "interpreted" / "javascript" / "comparing.js"

VALUES = {
    "an error": "Object.assign(new AggregateError([1], 'a'), { cause: [2] })",
    "what inherits from errors": "Object.create(AggregateError.prototype, { errors: { value: [1] } })",
    "an object with a list of errors": "Object.create({}, { errors: { value: fake } })",
    "an error with a Proxy": "Object.defineProperty(new Error('a'), 'cause', { value: fake })",
    "what inherits from errors, with a Proxy": "Object.create(AggregateError.prototype, { errors: { value: fake } })",
    "an accessor behind an error": "Object.create(Object.create(Error.prototype, { errors: { get: () => fake } }))",
    "what inherits from a Proxy behind its class": "Object.create(behind)",
}
MISLEADING = {name for name in VALUES if "Proxy" in name or "accessor" in name}

SCRIPT = """
const { holdStill } = require(process.argv[1]);
const fake = new Proxy([], {});
const behind = Object.create(new Proxy({}, {}), { [Symbol.toStringTag]: { value: 'Error' } });
const refused = [];
for (const [name, make] of Object.entries(VALUES)) {
  try {
    holdStill(make(), {})();
  } catch {
    refused.push(name);
  }
}
console.log(JSON.stringify(refused));
"""


def test_errors_with_what_only_a_comparison_of_errors_looks_at():
    values = ", ".join(f"{json.dumps(name)}: () => {code}" for name, code in VALUES.items())
    script = SCRIPT.replace("VALUES", f"{{ {values} }}")
    done = subprocess.run(["node", "-e", script, str(COMPARING)], capture_output=True, text=True, check=True)
    assert set(json.loads(done.stdout)) == MISLEADING
