"""A real HTTP server that plays a chat endpoint: it gives scripted answers, faults among them."""

import contextlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Endpoint(ThreadingHTTPServer):
    """A chat endpoint. Answers are texts, objects, bytes, a status with headers, seconds to wait, or None for a cut."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = {}
        """For each last message, the answers to give first."""
        self.known = {}
        """For each first message, the text to answer."""
        self.refuses_after = None
        """After how many requests all further ones are refused."""
        self.requests = []
        self.busy = self.most_busy = 0
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def know(self, suite):
        """Answer the prompts of a suite with its references."""
        self.known |= {task.prompt: f"Here:\n```python\n{task.reference}\n```" for task in suite}

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def answer_to(self, asked):
        prompt = asked["messages"][-1]["content"]
        with self.lock:
            self.requests.append(asked)
            if self.refuses_after is not None and len(self.requests) > self.refuses_after:
                return 401, {}
            answers = self.script.setdefault(prompt, [])
            known = self.known.get(asked["messages"][0]["content"], f"answer to {prompt}")
            return answers.pop(0) if answers else known


def completion(text, **fields):
    """What an endpoint sends."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [choice],
        "usage": {"prompt_tokens": 3, "completion_tokens": 5, "total_tokens": 8},
        **fields,
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        server = self.server
        with server.lock:
            server.busy += 1
            server.most_busy = max(server.most_busy, server.busy)
        try:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send(server.answer_to(asked))
        finally:
            with server.lock:
                server.busy -= 1

    def send(self, answer):
        if isinstance(answer, float):
            time.sleep(answer)
            answer = "slow"
        status, headers, body = 200, {}, b""
        if isinstance(answer, str):
            body = json.dumps(completion(answer)).encode()
        elif isinstance(answer, dict):
            body = json.dumps(answer).encode()
        elif isinstance(answer, bytes):
            body = answer
        elif isinstance(answer, tuple):
            status, headers = answer
            body = b'{"error": {"message": "not now"}}'
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body) + (100 if answer is None else 0)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):  # The client has given up.
            self.wfile.write(body)
        if answer is None:  # The connection is cut in the middle of the answer.
            self.close_connection = True

    def log_message(self, *_):
        pass
