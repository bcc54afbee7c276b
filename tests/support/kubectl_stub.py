"""A stand-in for kubectl: ``get --raw PATH`` with --kubeconfig and --context; errors are worded as kubectl's.

Only light modules of the standard library are imported, as each request is a process.
"""

import http.client
import json
import sys


def main():
    words = sys.argv[1:]
    options = dict(word.split("=", 1) for word in words if word.startswith("--") and "=" in word)
    if not options.keys() <= {"--kubeconfig", "--context"} or words[-3:-1] != ["get", "--raw"]:
        sys.exit("error: unknown command or option")
    with open(options["--kubeconfig"], encoding="utf-8") as stream:
        config = json.load(stream)
    contexts = {one["name"]: one["context"] for one in config["contexts"]}
    name = options.get("--context", config["current-context"])
    if name not in contexts:
        sys.exit(f'error: context "{name}" does not exist')
    clusters = {one["name"]: one["cluster"]["server"] for one in config["clusters"]}
    address = clusters[contexts[name]["cluster"]].removeprefix("http://")
    try:
        connection = http.client.HTTPConnection(address)
        connection.request("GET", words[-1])
        answer = connection.getresponse()
        body = answer.read()
    except OSError:
        sys.exit(f"The connection to the server {address} was refused - did you specify the right host or port?")
    if answer.status != 200:
        status = json.loads(body)
        sys.exit(f"Error from server ({status['reason']}): {status['message']}")
    sys.stdout.buffer.write(body)


if __name__ == "__main__":
    main()
