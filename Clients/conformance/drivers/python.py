"""The driver program of the Python client in Clients/python. It reads commands from standard input, and prints answers
and reports to standard output.
"""
import concurrent.futures
import json
import pathlib
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

from braid_testing import BraidClient, Problem, applying  # noqa: E402

printing = threading.Lock()


def report(line):
    with printing:
        print(json.dumps(line), flush=True)


def refusal(error):
    return {"status": error.status, "problem": error.kind} if isinstance(error, Problem) else {"failure": repr(error)}


class Driver:
    session = copy = None

    def connect(self, url, token, session):
        # The delays are short and the client may retry often, because some scenarios lose half of all connections.
        client = BraidClient(url, token, retries=1000)
        client.delay = lambda tries, retry_after=None, first=0.5: (retry_after or 0) + 0.001
        self.session = client.session(session)
        return {"client": "braid_testing", "levels": ["updates", "commands", "stream", "poll"]}

    def show(self, snapshot, by):
        self.copy = snapshot
        report({"copy": snapshot, "by": by})

    def read(self):
        self.show(self.session.snapshot(), "snapshot")

    def poll(self):
        news = self.session.updates(self.copy)
        if news.get("reset"):
            return self.show(news["snapshot"], "snapshot")
        for update in news["updates"]:
            self.show(applying(update, self.copy), "update")

    def follow(self):
        self.session.subscribe(since=self.copy, on_event=self.note)

    def note(self, event):
        if event.kind in ("snapshot", "update"):
            self.show(event.snapshot, event.kind)
        elif event.kind == "live":
            report({"live": True})
        elif event.kind == "ended":
            report({"ended": refusal(event.data) if event.data else {}})

    def send(self, command, base=False, ifMatch=False):  # noqa: N803
        [(name, body)] = command.items()
        return self.session.command("POST", name, body, base=self.copy if base else None, if_match=self.copy if ifMatch else None)

    def apply(self, snapshot, update):
        return {"copy": applying(update, snapshot)}

    def perform(self, number, act, members):
        try:
            answer = getattr(self, act)(**members) or {}
        except Exception as error:  # The driver reports every error, and the kit decides whether the error is right.
            answer = refusal(error)
        report({"id": number, "answer": answer})


driver = Driver()
# The client's methods block. One thread for the commands keeps their order, and commands do not delay other requests.
commands = concurrent.futures.ThreadPoolExecutor(1)
for line in sys.stdin:
    members = json.loads(line)
    number, act = members.pop("id"), members.pop("do")
    if act == "send":
        commands.submit(driver.perform, number, act, members)
    else:
        driver.perform(number, act, members)
