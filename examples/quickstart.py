"""Play one episode with feedback: a wrong answer, then the right one."""

import gymnasium as gym

import code_env  # noqa: F401  (registers the environments)


def main() -> None:
    env = gym.make("CodeExec-v0", suite="starter", max_turns=2, rewards={"tests": 1.0, "execution": 0.1})
    prompt, info = env.reset(seed=7, options={"task_id": "starter/seat-total"})
    print(prompt, "\n")

    task = env.get_wrapper_attr("suite").task(info["task_id"])
    answers = [
        f"```python\ndef {task.entry_point}(*args):\n    return 0\n```",  # as a chat model would write it
        task.reference,
    ]
    for answer in answers:
        _, reward, terminated, truncated, info = env.step(answer)
        print(f"reward {reward:.3f}  terms {info['reward_terms']}  outcome {info['outcome']}")
        print(info["messages"][-1]["content"], "\n")
        if terminated or truncated:
            break
    env.close()


if __name__ == "__main__":
    main()
