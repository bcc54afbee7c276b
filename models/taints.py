"""Device taints, their tolerations, and the DeviceTaintRule (dra-semantics 2.4, 9)."""

from .base import Int64, Model
from .meta import ObjectMeta


class DeviceTaint(Model):
    """A taint of a device; ``NoSchedule`` and ``NoExecute`` keep claims away (TNT-1)."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class DeviceToleration(Model):
    """A request's toleration of device taints (CLM-3, TNT-2)."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class DeviceTaintSelector(Model):
    """Which devices a rule taints; what is absent matches everything (TNT-5)."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Model):
    """``spec`` of a DeviceTaintRule; an empty selector taints every device, none taints nothing (TNT-6)."""

    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(Model):
    """An administrator's taint on many devices."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()
