"""Half of the reward is for each line."""

import json

try:
    lines = open("/app/answer.txt").read().split()
except OSError:
    lines = []
name, count = [*lines, "", ""][:2]
rewards = {"name": float(name == "monday"), "count": float(count == "3")}
json.dump(rewards, open("/logs/verifier/reward.json", "w"))
