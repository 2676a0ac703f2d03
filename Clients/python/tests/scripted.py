"""A server that answers with prepared bytes."""
import json
import socket
import threading
from dataclasses import dataclass


@dataclass
class Received:
    method: str
    path: str
    headers: dict
    body: object


def json_answer(value, status="200 OK", **headers):
    body = json.dumps(value).encode()
    fields = {"Content-Type": "application/json", "Content-Length": len(body)} | {name.replace("_", "-"): text for name, text in headers.items()}
    return "".join([f"HTTP/1.1 {status}\r\n", *(f"{name}: {text}\r\n" for name, text in fields.items()), "\r\n"]).encode() + body


def problem_answer(status, kind="unavailable", **headers):
    return json_answer({"type": f"/problems/{kind}", "detail": kind}, f"{status} No", **headers)


class ScriptedServer:
    """Accepts one connection for each of `answers`, sends this answer and closes the connection. For an empty answer,
    the server closes the connection without sending anything.
    """

    def __init__(self, *answers):
        self.answers = list(answers)
        self.received = []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        for answer in self.answers:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return  # the test has closed the listening socket
            with connection, connection.makefile("rb") as file:
                method, path, _ = file.readline().decode().split(" ")
                headers = {}
                while line := file.readline().decode().strip():
                    name, _, value = line.partition(": ")
                    headers[name.lower()] = value
                body = file.read(int(headers.get("content-length", 0)))
                self.received.append(Received(method, path, headers, json.loads(body) if body else None))
                connection.sendall(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()
