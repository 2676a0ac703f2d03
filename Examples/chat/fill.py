"""Opens the session `chat` with many messages: fill.py [URL] [COUNT]."""
import json
import sys
import urllib.request

url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
count = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
authors = ["Ada", "Grace", "Me", "Katherine"]
texts = ["Good morning!", "Did anybody read the plan for the harbour?", "Yes. The ferry stays where it is, and the market moves to the old quay.", "See you at eight."]
messages = [{"id": f"m{number}", "author": authors[number % 4], "text": f"{texts[number % 3 if number % 5 else 3]} (message {number})"} for number in range(count)]


def send(method, path, body):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}, method=method)
    urllib.request.urlopen(request).close()


send("POST", "/v1/sessions", {"table": "chat", "id": "chat"})
send("PATCH", "/v1/sessions/chat/models", {"messages": messages})
print(f"chat: {count} messages")
