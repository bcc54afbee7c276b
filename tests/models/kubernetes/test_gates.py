"""Feature gates: tables, parsing and the allocator's switches."""

import pickle

import pytest

from drasat.models.kubernetes.gates import GATES, VERSIONS, FeatureGates

SWITCHES = (
    "admin_access",
    "prioritized_list",
    "partitionable_devices",
    "device_taints",
    "device_taint_rules",
    "binding_conditions",
    "consumable_capacity",
    "fractional_capacity_range",
    "list_attributes",
    "optional_node_operations",
    "derived_attributes",
    "compatibility_groups",
)
NOTHING = FeatureGates(frozenset())


def switched_on(gates):
    return {name for name in SWITCHES if getattr(gates, name)}


def test_all_on_turns_on_every_switch():
    assert switched_on(FeatureGates.all_on()) == set(SWITCHES)


def test_no_gate_means_no_switch():
    assert switched_on(NOTHING) == set()


@pytest.mark.parametrize(
    ("gate", "switch"),
    [
        ("DRAAdminAccess", "admin_access"),
        ("DRAPrioritizedList", "prioritized_list"),
        ("DRAPartitionableDevices", "partitionable_devices"),
        ("DRADeviceTaints", "device_taints"),
        ("DRAConsumableCapacity", "consumable_capacity"),
        ("DRAFractionalCapacityRange", "fractional_capacity_range"),
        ("DRAListTypeAttributes", "list_attributes"),
        ("DRAOptionalNodeOperations", "optional_node_operations"),
        ("DRADerivedAttributes", "derived_attributes"),
        ("DRADeviceCompatibilityGroups", "compatibility_groups"),
    ],
)
def test_gate_drives_its_switch(gate, switch):
    """FEAT-1: one gate, one switch."""
    assert switched_on(NOTHING.with_({gate: True})) == {switch}
    assert switch not in switched_on(FeatureGates.all_on().with_({gate: False}))


@pytest.mark.parametrize("missing", ["DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"])
def test_binding_conditions_take_two_gates(missing):
    """FEAT-1."""
    assert not FeatureGates.all_on().with_({missing: False}).binding_conditions


def test_taint_rules_need_taints():
    gates = FeatureGates.all_on().with_({"DRADeviceTaints": False})
    assert "DRADeviceTaintRules" in gates
    assert not gates.device_taint_rules


@pytest.mark.parametrize(
    ("version", "off"),
    [
        (
            "1.36",
            {
                "device_taint_rules",
                "fractional_capacity_range",
                "list_attributes",
                "optional_node_operations",
                "derived_attributes",
                "compatibility_groups",
            },
        ),
        ("1.37", {"list_attributes", "optional_node_operations", "derived_attributes", "compatibility_groups"}),
    ],
)
def test_defaults_of_a_release(version, off):
    assert set(SWITCHES) - switched_on(FeatureGates.for_version(version)) == off


@pytest.mark.parametrize("text", ["1.36", "v1.36", "1.36.4", " v1.36.0 "])
def test_version_spellings(text):
    assert FeatureGates.for_version(text) == FeatureGates.for_version("1.36")


@pytest.mark.parametrize("text", ["1.35", "", "latest", "2.36", "1.360"])
def test_unknown_version_names_the_known_ones(text):
    with pytest.raises(ValueError, match=r"unknown Kubernetes version .* known are: 1\.36, 1\.37"):
        FeatureGates.for_version(text)


def test_alpha_gates_are_off_in_every_release():
    for column, version in enumerate(VERSIONS):
        defaults = FeatureGates.for_version(version).to_dict()
        alpha = [name for name, releases in GATES.items() if releases[column].stage.value == "alpha"]
        assert alpha
        assert not any(defaults[name] for name in alpha)


@pytest.mark.parametrize(
    ("text", "on", "off"),
    [
        ("DRADeviceTaints=false", [], ["device_taints", "device_taint_rules"]),
        ("DRAListTypeAttributes=true", ["list_attributes"], []),
        (" DRAListTypeAttributes = True , DRADeviceTaints=F,", ["list_attributes"], ["device_taints"]),
        ("AllAlpha=true", ["list_attributes", "derived_attributes", "compatibility_groups"], []),
        ("AllBeta=false", ["device_taints", "prioritized_list"], ["consumable_capacity", "partitionable_devices"]),
        ("AllBeta=false,DRAConsumableCapacity=1", ["consumable_capacity"], ["partitionable_devices"]),
        ("DRAConsumableCapacity=1,AllBeta=0", ["consumable_capacity"], ["partitionable_devices"]),
        ("AllAlpha=true,AllBeta=false", ["derived_attributes"], ["consumable_capacity"]),
        ("", ["consumable_capacity"], ["list_attributes"]),
    ],
)
def test_parse_switches_gates_of_a_release(text, on, off):
    gates = FeatureGates.parse(text, FeatureGates.for_version("1.37"))
    state = switched_on(gates)
    assert set(on) <= state
    assert not set(off) & state


def test_groups_mean_the_stages_of_the_base_release():
    """DRADeviceTaints is beta in 1.36 and GA in 1.37."""
    assert not FeatureGates.parse("AllBeta=false", FeatureGates.for_version("1.36")).device_taints
    assert FeatureGates.parse("AllBeta=false", FeatureGates.for_version("1.37")).device_taints


def test_parse_starts_from_all_on_by_default():
    assert FeatureGates.parse("DRAAdminAccess=false") == FeatureGates.all_on().with_({"DRAAdminAccess": False})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("NoSuchGate=true", "unknown feature gate 'NoSuchGate', known are: AllAlpha, AllBeta, Dynamic"),
        ("draadminaccess=true", "unknown feature gate"),
        ("DRAAdminAccess", "missing value of feature gate 'DRAAdminAccess'"),
        ("DRAAdminAccess=yes", "bad value 'yes' of feature gate 'DRAAdminAccess'"),
        ("DRAAdminAccess=", "bad value ''"),
        ("=true", "unknown feature gate ''"),
    ],
)
def test_bad_switches_are_one_line(text, problem):
    with pytest.raises(ValueError, match=problem) as caught:
        FeatureGates.parse(text)
    assert "\n" not in str(caught.value)


def test_with_refuses_unknown_names():
    with pytest.raises(ValueError, match="unknown feature gate 'X'"):
        FeatureGates.all_on().with_({"X": True})


def test_with_leaves_the_original_alone():
    base = FeatureGates.all_on()
    base.with_({"DRAAdminAccess": False})
    assert base.admin_access


def test_to_dict_lists_every_gate():
    listed = FeatureGates.for_version("1.36").to_dict()
    assert list(listed) == sorted(GATES)
    assert listed["DRAConsumableCapacity"] is True
    assert listed["DRADerivedAttributes"] is False


def test_to_dict_and_with_are_inverse():
    gates = FeatureGates.for_version("1.36")
    assert FeatureGates.all_on().with_(gates.to_dict()).enabled == gates.enabled


@pytest.mark.parametrize(
    ("on", "variant"),
    [
        ([], "stable"),
        (["DRAAdminAccess", "DRAPrioritizedList", "DRAPartitionableDevices", "DRADeviceTaints"], "stable"),
        (["DRADeviceBindingConditions"], "stable"),
        (["DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"], "incubating"),
        (["DRAConsumableCapacity"], "incubating"),
        (["DRAFractionalCapacityRange"], "incubating"),
        (["DRAListTypeAttributes"], "experimental"),
        (["DRAOptionalNodeOperations"], "experimental"),
        (["DRADerivedAttributes"], "experimental"),
        (["DRADeviceCompatibilityGroups", "DRAConsumableCapacity"], "experimental"),
    ],
)
def test_variant_is_the_first_that_supports_all(on, variant):
    """FEAT-2, FEAT-3."""
    assert NOTHING.with_(dict.fromkeys(on, True)).variant == variant


@pytest.mark.parametrize("version", VERSIONS)
def test_default_variant_of_releases(version):
    """FEAT-3: both releases run the incubating allocator by default."""
    assert FeatureGates.for_version(version).variant == "incubating"
    assert FeatureGates.all_on().variant == "experimental"


def test_gates_are_hashable_and_picklable():
    gates = FeatureGates.for_version("1.37")
    assert pickle.loads(pickle.dumps(gates)) == gates
    assert len({gates, FeatureGates.for_version("1.37"), FeatureGates.all_on()}) == 2
