"""Opens the session `stories` with many stories, the newest first: fill.py [URL] [COUNT]."""
import json
import sys
import urllib.request

url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
count = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
titles = ["Lighthouse lit again", "River ferry goes electric", "Choir seeks a bass", "Bakery turns eighty"]
summary = "The town council spoke about it for two hours on Tuesday. A vote follows in spring."
stories = [{"id": f"s{number}", "title": f"{titles[number % 4]} ({number})", "summary": summary[:40 + number % 40]} for number in reversed(range(count))]


def send(method, path, body):
    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}, method=method)
    urllib.request.urlopen(request).close()


send("POST", "/v1/sessions", {"table": "stories", "id": "stories"})
send("PATCH", "/v1/sessions/stories/models", {"stories": stories})
print(f"stories: {count} stories")
