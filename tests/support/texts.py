"""What commands read and print: claims for devices of the class ``gpu`` as YAML, tables, a terminal."""

import io
import json


def spec(count=1, expression="", admin=False):
    """What a claim asks for, in flow style."""
    selectors = f", selectors: [{{cel: {{expression: {json.dumps(expression)}}}}}]" if expression else ""
    more = selectors + (", adminAccess: true" if admin else "")
    return f"{{devices: {{requests: [{{name: r, exactly: {{deviceClassName: gpu, count: {count}{more}}}}}]}}}}"


def claim(name="c", count=1, namespace="default", labels="{}", expression="", admin=False):
    """A document with a claim."""
    return f"""---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {name}, namespace: {namespace}, labels: {labels}}}
spec: {spec(count, expression, admin)}
"""


def rows(text):
    """The lines of a table, without its padding."""
    return [" ".join(line.split()) for line in text.splitlines()]


class Terminal(io.StringIO):
    def isatty(self):
        return True
