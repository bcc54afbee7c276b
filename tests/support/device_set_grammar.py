"""Random expressions over ``devices``, and random devices for them: mixed types, missing attributes, errors."""

from __future__ import annotations

import random

from drasat.cel.devices import DeviceShapes
from drasat.models.kubernetes.slices import Device, DeviceAttribute, DeviceCapacity

DRIVER = "d.x"
NAMES = ("n", "m", "s", "l")
SHAPES = DeviceShapes()


class Grammar:
    """Writes expressions; names of variables of devices are taken from the scope."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0

    def fresh(self):
        self.names += 1
        return f"v{self.names}"

    def pick(self, *options):
        return self.random.choice(options)()

    def attribute(self, device):
        return f'{device}.attributes["{DRIVER}"].{self.random.choice(NAMES)}'

    def scalar(self, devices, depth):
        """Something of a device in scope, or a constant."""
        options = [lambda: str(self.random.randint(0, 2)), lambda: "'a'"]
        if devices:
            device = self.random.choice(devices)
            options += [
                *[lambda: self.attribute(device)] * 4,
                lambda: f'{device}.?attributes["{DRIVER}"].?{self.random.choice(NAMES)}.orValue(0)',
                lambda: f"{device}.driver",
                lambda: f'{device}.capacity["{DRIVER}"].c',
            ]
        if depth > 0:
            options += [
                lambda: f"({self.scalar(devices, depth - 1)} + {self.scalar(devices, depth - 1)})",
                lambda: f"({self.boolean(devices, depth - 1)} ? {self.scalar(devices, depth - 1)} : dyn(1))",
                lambda: self.folded(devices, depth - 1),
            ]
        return f"dyn({self.pick(*options)})"

    def folded(self, devices, depth):
        name = self.random.choice(
            ["size()", "size()", "sum()", "min()", "max()", "distinct().size()", "sort()[0]", "first().orValue(0)"]
        )
        return f"{self.values(devices, depth)}.{name}"

    def devices(self, devices, depth):
        """A list of devices."""
        options = [*[lambda: "devices"] * 3]
        if depth > 0:
            options += [self.filtered(devices, depth), self.filtered(devices, depth), lambda: "(devices + devices)"]
        return self.pick(*options)

    def filtered(self, devices, depth):
        def write():
            name = self.fresh()
            return f"devices.filter({name}, {self.boolean([*devices, name], depth - 1)})"

        return write

    def values(self, devices, depth):
        """A list of values."""
        name = self.fresh()
        source = self.devices(devices, depth)
        mapped = f"{source}.map({name}, {self.scalar([*devices, name], depth - 1)})"
        suffix = [*[""] * 5, ".distinct()", ".sort()", ".reverse()", ".flatten(1)", ".slice(0, 1)", " + [1]"]
        chosen = self.random.choice(suffix)
        return f"({mapped}{chosen})" if chosen.startswith(" ") else f"{mapped}{chosen}"

    def quantified(self, devices, depth):
        name, macro = self.fresh(), self.random.choice(["all", "exists", "exists_one"])
        if self.random.random() < 0.08:
            index = self.fresh()
            inner = f"({index} == 0 || {self.boolean([*devices, name], depth - 1)})"
            return f"devices.{macro.replace('exists_one', 'existsOne')}({index}, {name}, {inner})"
        return f"{self.devices(devices, depth)}.{macro}({name}, {self.boolean([*devices, name], depth - 1)})"

    def compared(self, devices, depth):
        operator = self.random.choice(["==", "!=", "<", ">="])
        return f"{self.scalar(devices, depth)} {operator} {self.scalar(devices, depth)}"

    def searched(self, devices, depth):
        value, values = self.scalar(devices, depth - 1), self.values(devices, depth - 1)
        return self.random.choice(
            [
                f"{value} in {values}",
                f"{value} in {values}",
                f"{values}.includes({value})",
                f"sets.contains({values}, [{value}])",
                f"{values}.indexOf({value}) == 0",
                f"{values} == [{value}]",
            ]
        )

    def bound(self, devices, depth):
        name = self.fresh()
        return f"cel.bind({name}, devices[0], {self.boolean([*devices, name], depth - 1)})"

    def boolean(self, devices, depth):
        options = [lambda: self.compared(devices, max(depth, 0))]
        if devices:
            options.append(lambda: f'has({self.random.choice(devices)}.attributes["{DRIVER}"].n)')
            options.append(lambda: f"{self.random.choice(devices)} == {self.random.choice(devices)}")
        if depth > 0:
            options += [
                *[lambda: self.quantified(devices, depth)] * 3,
                lambda: f"({self.boolean(devices, depth - 1)} && {self.boolean(devices, depth - 1)})",
                lambda: f"({self.boolean(devices, depth - 1)} || {self.boolean(devices, depth - 1)})",
                lambda: f"!({self.boolean(devices, depth - 1)})",
                lambda: self.searched(devices, depth),
            ]
            if self.random.random() < 0.2:
                options.append(lambda: self.bound(devices, depth))
        return self.pick(*options)

    # --- devices

    def value(self, name):
        kind = self.random.random()
        if kind < 0.1:
            return None
        if kind < 0.2:
            return DeviceAttribute(bool_value=True)
        if name == "s" or kind < 0.3:
            return DeviceAttribute(string=self.random.choice("ab"))
        if name == "l":
            return DeviceAttribute(ints=tuple(self.random.choices(range(3), k=2)))
        return DeviceAttribute(int_value=self.random.randint(0, 2))

    def device(self, same=None, kept=frozenset()):
        """A device; like another in some attributes."""
        attributes = {name: self.value(name) for name in NAMES}
        capacity = {"c": DeviceCapacity(value=self.random.choice(["1Gi", "1024Mi", "2"]))}
        if same is not None:
            attributes |= {name: (same.attributes or {}).get(name) for name in NAMES if name in kept}
            capacity = dict(same.capacity) if "c" in kept else capacity
        return Device(
            attributes={name: value for name, value in attributes.items() if value is not None}, capacity=capacity
        )


def prepared(device):
    return SHAPES.prepare(device, DRIVER)
