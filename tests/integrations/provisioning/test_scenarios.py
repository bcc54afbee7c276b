"""The scenarios of provisioning-request 9 by their names, with the corrections of section 12."""

import pytest
from support.provisioning_play import STANDARD, Play, check, config, kueue, pods, queue, workload

from drasat.integrations.provisioning import machine
from drasat.integrations.provisioning.checks import NOT_ACTIVE, NOT_NEEDED
from drasat.integrations.provisioning.requests import request_name, shorten, template_name

MERGED = (
    pods("ps1", 1),
    pods("ps2", 2),
    pods("ps3", 1, {"cpu": "2"}, priorityClassName="a"),
    pods("ps4", 1, {"cpu": "2"}, priorityClassName="b"),
    pods("ps5", 1, {"cpu": "3"}),
)
TEMPLATES, REQUIREMENTS = "IdenticalPodTemplates", "IdenticalWorkloadSchedulingRequirements"


def two_checks(**fields):
    return config(), config("config2", **fields), check(), check("check2", "config2"), queue("check1", "check2")


def test_a1_without_quota_nothing_is_asked():
    play = Play(free=False)
    assert (play.requests, play.templates) == ({}, {})


def test_a2_with_quota_there_is_a_request_with_two_templates():
    play = Play()
    [request] = play.requests.values()
    assert (request.name, request.owner, request.class_name, request.parameters) == (
        "wl-check1-1",
        "wl",
        "class1",
        {"p1": "v1"},
    )
    assert play.counts() == {"ps1": 4, "ps2": 3}
    assert set(play.templates) == {"ppt-wl-check1-1-ps1", "ppt-wl-check1-1-ps2"}


def test_a3_two_checks_make_two_requests():
    assert set(Play(*two_checks()).requests) == {"wl-check1-1", "wl-check2-1"}


def test_a4_managed_resources_choose_pod_sets():
    assert Play(config(managedResources=["example.com/gpu"])).counts() == {"ps2": 3}


def test_a5_without_a_managed_resource_the_check_is_ready():
    play = Play(config(managedResources=["example.com/other"]))
    assert (play.check().state, play.check().message, play.requests) == ("Ready", NOT_NEEDED, {})
    assert play.one.state == "admitted"


def test_a6_pod_sets_without_pods_are_left_out():
    assert Play(pod_sets=(pods("ps1", 0), pods("ps2", 2))).counts() == {"ps2": 2}
    play = Play(pod_sets=(pods("ps1", 0),))
    assert (play.check().message, play.requests) == (NOT_NEEDED, {})


def test_a7_the_admitted_count_is_asked_for():
    play = Play(free=False)
    play.reserve(ps1=2, ps2=0)
    assert play.counts() == {"ps1": 2}


def test_a8_annotations_add_parameters():
    play = Play(annotations={"provreq.kueue.x-k8s.io/extra": "1"})
    assert play.requests["wl-check1-1"].parameters == {"p1": "v1", "extra": "1"}
    assert not play.state.looping


def test_a8_an_annotation_that_overrides_a_parameter_loops():
    assert Play(annotations={"provreq.kueue.x-k8s.io/p1": "other"}).state.looping


def test_a9_labels_and_tolerations_of_flavors_are_in_the_template():
    play = Play(pod_sets=(pods("ps1", nodeSelector={"other": "x"}),))
    spec = play.templates["ppt-wl-check1-1-ps1"].template["spec"]
    assert spec["nodeSelector"] == {"other": "x", "zone": "z1"}
    assert spec["tolerations"] == [{"key": "spot", "operator": "Exists"}]


def test_a9_a_contradicting_selector_is_an_error_that_is_tried_again():
    play = Play(pod_sets=(pods("ps1", nodeSelector={"zone": "other"}),))
    errors = [one.message for one in play.simulation.log if not one.reason]
    assert len(errors) == 2
    assert "conflict for nodeSelector" in errors[0]
    assert play.requests == {}


def test_a10_requests_are_filled_from_limits():
    play = Play(pod_sets=(pods("ps1", limits={"cpu": "2"}),))
    [container] = play.templates["ppt-wl-check1-1-ps1"].template["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": "2"}


def test_a11_amounts_are_written_as_the_api_server_writes_them():
    play = Play(pod_sets=(pods("ps1", requests={"cpu": "0.5", "memory": "1024Mi"}),))
    [container] = play.templates["ppt-wl-check1-1-ps1"].template["spec"]["containers"]
    assert container["resources"]["requests"] == {"cpu": "500m", "memory": "1Gi"}
    assert not play.state.looping


@pytest.mark.parametrize(
    ("kind", "named"),
    [("ProvisioningRequest", "wl-check1-1"), ("PodTemplate", "ppt-wl-check1-1-ps1")],
    ids=["a12", "a13"],
)
def test_a12_a13_a_refused_creation_is_said_and_the_next_success_clears_it(kind, named):
    play = Play(free=False)
    play.run(machine.RefuseKind(kind, "no"))
    assert play.reserve().count("FailedCreate") == 2
    assert (play.check().state, play.check().message) == ("Pending", f'Error creating {kind} "{named}": no')
    play.run(machine.RefuseKind(kind, ""))
    assert (play.check().message, set(play.requests)) == ("", {"wl-check1-1"})


def test_a13_a_template_that_exists_is_used_again():
    play = Play(free=False)
    play.run(machine.RefuseKind("ProvisioningRequest", "no"))
    play.reserve()
    kept = play.templates["ppt-wl-check1-1-ps1"].template
    play.run(machine.RefuseKind("ProvisioningRequest", ""))
    assert play.templates["ppt-wl-check1-1-ps1"].template is kept


def test_a14_checks_of_other_controllers_are_left_alone():
    other = check("check2", controllerName="example.com/other")
    play = Play(check(), other, queue("check1", "check2"), free=False)
    play.reserve()
    assert set(play.requests) == {"wl-check1-1"}
    assert play.check("check2").state == "Pending"


def test_a15_long_names_are_cut_with_a_hash():
    name = "w" * 300
    cut = request_name(name, "check1", 1)
    assert (len(cut), cut[:247]) == (253, name[:247])
    assert cut != request_name(name, "check1", 2)
    assert shorten("w" * 247) == "w" * 247
    assert len(template_name(cut, "main")) == 253


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (None, {"ps1": 1, "ps2": 2, "ps3": 1, "ps4": 1, "ps5": 1}),
        (TEMPLATES, {"ps1": 3, "ps3": 1, "ps4": 1, "ps5": 1}),
        (REQUIREMENTS, {"ps1": 3, "ps3": 2, "ps5": 1}),
    ],
    ids=["b1", "b2", "b3"],
)
def test_b1_b2_b3_policies_merge_pod_sets(policy, expected):
    given = config(podSetMergePolicy=policy) if policy else config()
    assert Play(given, pod_sets=MERGED).counts() == expected


def joined(policy, *pod_sets):
    return len(Play(config(podSetMergePolicy=policy), pod_sets=pod_sets).counts())


def test_b4_labels_count_for_templates_alone():
    sets = pods("ps1", labels={"a": "1"}), pods("ps2", labels={"a": "2"})
    assert (joined(TEMPLATES, *sets), joined(REQUIREMENTS, *sets)) == (2, 1)


def containers(*amounts):
    return [{"name": f"c{amount}", "resources": {"requests": {"cpu": amount}}} for amount in amounts]


def test_b5_the_order_of_containers_counts():
    sets = pods("ps1", containers=containers("1", "2")), pods("ps2", containers=containers("2", "1"))
    assert joined(REQUIREMENTS, *sets) == 2


def test_b6_claims_for_devices_count():
    claims = [{"name": "gpu", "resourceClaimTemplateName": "t"}]
    sets = pods("ps1", resourceClaims=claims), pods("ps2", resourceClaims=[{**claims[0], "name": "other"}])
    assert joined(REQUIREMENTS, *sets) == 2
    assert joined(REQUIREMENTS, sets[0], {**sets[0], "name": "ps3"}) == 1


def test_b7_a_pod_set_joins_the_first_alike_and_not_its_neighbour():
    sets = pods("ps1", 1), pods("ps2", 2, {"cpu": "2"}), pods("ps3", 3)
    assert Play(config(podSetMergePolicy=TEMPLATES), pod_sets=sets).counts() == {"ps1": 4, "ps2": 2}


def test_b_amounts_are_compared_by_value_and_empty_is_absent():
    sets = pods("ps1", requests={"cpu": "1000m"}), pods("ps2", requests={"cpu": "1"}, nodeSelector={})
    assert joined(TEMPLATES, *sets) == 1


def test_c1_provisioned_is_ready_with_updates():
    play = Play()
    assert play.answer("Provisioned", message="all there") == ["AdmissionCheckUpdated", "Admitted"]
    found = play.check()
    assert (found.state, found.message, [one.name for one in found.updates]) == ("Ready", "all there", ["ps1", "ps2"])
    assert found.updates[0].annotations == {
        "autoscaling.x-k8s.io/consume-provisioning-request": "wl-check1-1",
        "autoscaling.x-k8s.io/provisioning-class-name": "class1",
    }


def test_c2_details_become_node_selectors():
    selectors = [{"key": key, "valueFromProvisioningClassDetail": key.title()} for key in ("pool", "rack")]
    play = Play(config(podSetUpdates={"nodeSelector": selectors}))
    play.answer("Provisioned", Pool="p7")
    assert {tuple(one.node_selector.items()) for one in play.check().updates} == {(("pool", "p7"),)}


def test_c3_the_time_of_arrival_is_the_message():
    play = Play()
    play.answer("Accepted")
    for text in ("ETA 5 min", "ETA 9 min"):
        assert play.answer("Provisioned", status="False", message=text) == []
        assert (play.check().state, play.check().message) == ("Pending", text)


def test_c4_the_first_failure_is_retried():
    play = Play()
    assert play.answer("Failed", message="no") == ["AdmissionCheckUpdated"]
    found = play.check()
    assert (found.state, found.requeue_after, found.message) == ("Retry", 60, "Retrying after failure: no")
    assert play.messages[-1].startswith("Admission check check1 updated state from Pending to Retry with message")


def test_c5_the_second_failure_waits_twice_as_long():
    play = Play()
    play.answer("Failed")
    play.advance(60)
    play.answer("Failed")
    assert (play.check().retry_count, play.check().requeue_after) == (1, 120)


def test_c6_the_fourth_failure_is_the_last():
    play = Play()
    for _ in range(3):
        play.answer("Failed")
        play.advance(1000)
    assert set(play.requests) == {"wl-check1-4"}
    assert "AdmissionCheckRejected" in play.answer("Failed")
    assert not play.one.active


def test_c7_without_retries_the_first_failure_is_the_last():
    play = Play(config(retryStrategy={"backoffLimitCount": 0}))
    assert "AdmissionCheckRejected" in play.answer("Failed")


def test_c8_a_failure_that_was_counted_is_not_counted_again():
    """With requests kept on eviction the failed one is still there, and the next attempt follows it."""
    play = Play(cleanup=False)
    play.answer("Failed")
    play.advance(60)
    assert (play.check().state, play.check().retry_count, set(play.requests)) == ("Pending", 1, {"wl-check1-2"})


def test_c9_an_expired_booking_is_retried():
    play = Play()
    play.answer("BookingExpired", message="late")
    assert (play.check().state, play.check().message) == ("Retry", "Retrying after booking expired: late")


def test_c10_an_expired_booking_after_admission_changes_nothing():
    play = Play()
    play.answer("Provisioned")
    assert play.answer("BookingExpired") == []
    assert play.one.state == "admitted"


@pytest.mark.parametrize("admitted", [False, True])
def test_c11_revoked_capacity_is_rejected(admitted):
    play = Play()
    if admitted:
        play.answer("Provisioned")
    assert "AdmissionCheckRejected" in play.answer("CapacityRevoked")
    assert not play.one.active


def test_c11_revoked_capacity_of_finished_or_inactive_workloads_changes_nothing():
    finished, inactive = Play(cleanup=False), Play(cleanup=False)
    finished.finish()
    inactive.activate(False)
    for play in (finished, inactive):
        assert play.answer("CapacityRevoked", request="wl-check1-1") == []


def test_c12_failed_counts_before_provisioned():
    play = Play()
    play.answer("Provisioned", "Failed")
    assert play.check().state == "Retry"


def test_c13_a_booking_that_expires_before_the_sibling_is_ready_is_retried():
    play = Play(*two_checks())
    play.answer("Provisioned", request="wl-check1-1")
    play.answer("BookingExpired", request="wl-check1-1")
    assert play.check("check1").state == "Retry"


def test_c14_without_conditions_the_message_is_emptied():
    play = Play()
    play.delete("ProvisioningRequestConfig", "config1")
    assert play.check().message == NOT_ACTIVE
    play.apply(config())
    assert (play.check().state, play.check().message) == ("Pending", "")


def test_d1_a_retry_that_succeeds_is_admitted():
    play = Play()
    play.fail_after(10)
    play.advance(60)
    play.answer("Provisioned")
    assert (play.one.state, play.check().retry_count) == ("admitted", 1)


def made_at(play, failures):
    """The times at which requests are made, each of which fails ten seconds later; and the time of the end."""
    times = [0]
    for _ in range(failures):
        play.fail_after(10)
        before = set(play.requests)
        while play.one.active and set(play.requests) == before:
            play.advance(1)
        times.append(play.state.now)
    return times


@pytest.mark.parametrize(
    ("backoff", "times"), [("as-coded", [0, 60, 180, 420, 430]), ("intended", [0, 70, 200, 450, 460])]
)
def test_d2_d3_four_failures_in_both_readings(backoff, times):
    """Section 5.4, as-coded by correction 1 of section 12."""
    play = Play(backoff=backoff)
    if backoff == "as-coded":
        assert made_at(play, 4) == times
        return
    for time in times[1:-1]:
        play.fail_after(10)
        assert (play.requests, play.one.reservation) == ({}, None)
        play.advance(time - play.state.now - 1)
        assert play.requests == {}
        play.advance(1)
        assert len(play.requests) == 1
    play.fail_after(10)
    assert (play.state.now, play.one.active) == (times[-1], False)


@pytest.mark.parametrize(("base", "most", "waits"), [(60, 100, [60, 100, 100]), (200, 100, [200, 100, 100])])
def test_d4_waits_are_cut_to_the_maximum_from_the_second_on(base, most, waits):
    """Correction 5 of section 12 for a base above the maximum."""
    play = Play(config(retryStrategy={"backoffBaseSeconds": base, "backoffMaxSeconds": most}))
    for wait in waits:
        play.answer("Failed")
        assert play.check().requeue_after == wait
        play.advance(wait)


def test_d5_a_sibling_that_was_ready_forgets_its_retries():
    play = Play(*two_checks())
    play.answer("Provisioned", request="wl-check2-1")
    play.answer("Failed", request="wl-check1-1")
    play.advance(60)
    assert [(one.state, one.retry_count) for one in play.one.checks] == [("Pending", 1), ("Pending", None)]
    assert set(play.requests) == {"wl-check1-2", "wl-check2-1"}


def test_d6_the_attempt_goes_on_after_the_requests_were_deleted():
    play = Play(free=False)
    play.reserve()
    play.answer("Failed")
    play.advance(60)
    assert play.requests == {}
    play.reserve()
    assert set(play.requests) == {"wl-check1-2"}


def test_d7_a_workload_preempted_while_ready_begins_again():
    play = Play()
    play.answer("Failed")
    play.advance(60)
    play.answer("Provisioned", request="wl-check1-2")
    play.evict()
    assert (play.check().retry_count, set(play.requests)) == (None, {"wl-check1-1"})


@pytest.mark.parametrize("backoff", ["as-coded", "intended"])
def test_d8_a_rejected_workload_that_is_activated_again(backoff):
    """Correction 2 of section 12: as coded it is not requeued."""
    play = Play(config(retryStrategy={"backoffLimitCount": 0}), backoff=backoff)
    play.answer("Failed")
    play.activate()
    assert set(play.requests) == (set() if backoff == "as-coded" else {"wl-check1-1"})


def test_d8_a_workload_that_the_user_deactivated_is_requeued():
    play = Play()
    play.activate(False)
    assert play.requests == {}
    play.activate()
    assert set(play.requests) == {"wl-check1-1"}
    assert play.one.conditions["Requeued"].reason == "Reactivated"


def test_d9_the_later_of_two_back_offs_counts():
    play = Play(*two_checks(retryStrategy={"backoffBaseSeconds": 120}))
    play.answer("Failed")
    assert play.one.requeue_at == 120


def test_d10_a_later_time_of_another_cause_stays():
    play = Play(*two_checks(retryStrategy={"backoffBaseSeconds": 500}))
    play.answer("Failed", request="wl-check2-1")
    play.answer("Failed", request="wl-check1-1")
    assert play.one.requeue_at == 500


def test_e1_a_finished_workload_owns_nothing():
    play = Play()
    play.finish()
    assert (play.requests, play.templates) == ({}, {})


@pytest.mark.parametrize("cleanup", [True, False])
def test_e2_evictions_delete_requests_unless_the_gate_is_off(cleanup):
    play = Play(free=False, cleanup=cleanup)
    play.reserve()
    play.evict()
    assert bool(play.requests) is not cleanup


def test_e3_a_reservation_lost_without_eviction_keeps_requests():
    play = Play(free=False)
    play.reserve()
    play.apply(queue(stopPolicy="HoldAndDrain"))
    assert (play.one.reservation, set(play.requests)) == (None, {"wl-check1-1"})


@pytest.mark.parametrize(
    ("changed", "replaced"),
    [
        (config(provisioningClassName="class9"), True),
        (config(parameters={"p1": "v2"}), True),
        (config(parameters={"p1": "v1", "p2": "x"}), True),
        (config(parameters={}), False),
        (config(retryStrategy={"backoffLimitCount": 0}), False),
    ],
    ids=["e4", "e5-value", "e5-added", "e5-removed", "e9"],
)
def test_e4_e5_e9_a_changed_configuration_replaces_requests_that_do_not_fit(changed, replaced):
    play = Play()
    before = play.requests["wl-check1-1"].serial
    play.apply(changed)
    assert (play.requests["wl-check1-1"].serial != before) is replaced


def test_e6_a_missing_configuration_stops_the_check_until_it_is_back():
    play = Play()
    play.delete("ProvisioningRequestConfig", "config1")
    assert (play.check().state, play.check().message, play.requests) == ("Pending", NOT_ACTIVE, {})
    play.apply(config())
    assert set(play.requests) == {"wl-check1-1"}


def test_e7_another_configuration_replaces_the_request():
    play = Play(config(), config("config2", provisioningClassName="class2"))
    play.apply(check(target="config2"))
    assert play.requests["wl-check1-1"].class_name == "class2"


def test_e8_nothing_managed_deletes_the_request_and_is_ready():
    play = Play()
    play.apply(config(managedResources=["example.com/x"]))
    assert (play.requests, play.check().state, play.one.state) == ({}, "Ready", "admitted")


def test_e10_an_admitted_workload_goes_on_without_its_request():
    play = Play()
    play.answer("Provisioned")
    play.delete("ProvisioningRequest", "wl-check1-1", "team")
    assert (play.requests, play.one.state) == ({}, "admitted")


def test_e10_a_deleted_request_of_a_pending_check_is_made_again():
    play = Play()
    assert play.delete("ProvisioningRequest", "wl-check1-1", "team") == ["ProvisioningRequestCreated"]


def test_e11_checks_follow_the_flavor():
    rules = ({"name": "check1", "onFlavors": ["f1"]}, {"name": "check2", "onFlavors": ["f2"]})
    play = Play(config(), config("config2"), check(), check("check2", "config2"), queue(*rules), free=False)
    assert play.one.checks == ()
    play.reserve_flavor("f1")
    assert ([one.name for one in play.one.checks], set(play.requests)) == (["check1"], {"wl-check1-1"})
    play.evict()
    play.reserve_flavor("f2")
    assert ([one.name for one in play.one.checks], set(play.requests)) == (["check2"], {"wl-check2-1"})


GROUP, KIND = "kueue.x-k8s.io", "ProvisioningRequestConfig"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (None, "missing parameters reference"),
        ({"apiGroup": "a.b", "kind": KIND, "name": "config1"}, 'wrong group "a.b", expecting "kueue.x-k8s.io"'),
        ({"apiGroup": GROUP, "kind": "Other", "name": "config1"}, 'wrong kind "Other", expecting'),
        ({"apiGroup": GROUP, "kind": KIND, "name": "x"}, 'provisioningrequestconfigs.kueue.x-k8s.io "x" not found'),
    ],
    ids=["f1", "f2", "f3", "f4"],
)
def test_f1_f2_f3_f4_bad_parameters_make_a_check_inactive(parameters, message):
    play = Play(check(parameters=parameters))
    condition = play.state.check_status["check1"]
    assert (condition.status, condition.reason) == ("False", "BadParametersRef")
    assert condition.message.startswith(message)
    assert play.one.conditions["QuotaReserved"].message == "ClusterQueue cq is inactive"


def test_f5_a_configuration_that_appears_makes_the_check_active():
    play = Play(check(target="later"))
    play.apply(config("later"))
    assert play.state.check_status["check1"].status == "True"
    assert set(play.requests) == {"wl-check1-1"}


def test_f6_the_condition_is_written_only_when_its_status_flips():
    play = Play(check(parameters=None))
    before = play.state.check_status["check1"]
    play.apply(check(target="missing"))
    assert play.state.check_status["check1"] is before


def test_g1_success_cleans_up_when_the_workload_has_run():
    play = Play()
    play.answer("Provisioned")
    play.finish()
    assert (play.requests, play.one.state) == ({}, "finished")


def test_g2_preempted_after_success_the_request_goes():
    play = Play(free=False)
    play.reserve()
    play.answer("Provisioned")
    play.evict()
    assert (play.requests, play.one.state, play.check().state) == ({}, "pending", "Pending")


@pytest.mark.parametrize("provisioned", [True, False], ids=["g3", "g5"])
def test_g3_g5_a_deleted_workload_takes_its_request_along(provisioned):
    play = Play()
    if provisioned:
        play.answer("Provisioned")
    play.delete("Workload", "wl", "team")
    assert (play.requests, play.templates) == ({}, {})


def test_g4_a_failed_request_is_retried():
    play = Play()
    play.answer("Failed")
    assert play.check().state == "Retry"


def test_g6_a_workload_that_is_suspended_while_it_waits_loses_its_request():
    play = Play()
    play.activate(False)
    assert (play.requests, play.one.reservation) == ({}, None)


def test_g7_a_queue_without_checks_admits_by_quota_alone():
    play = Play()
    play.apply(queue(admissionChecksStrategy={"admissionChecks": [{"name": "other"}]}))
    bare = queue()
    del bare["spec"]["admissionChecksStrategy"]
    play.apply(bare)
    assert (play.one.checks, play.one.state, play.requests) == ((), "admitted", {})


def test_g8_g9_changed_and_removed_configurations():
    play = Play()
    play.apply(config(provisioningClassName="class2"))
    assert play.requests["wl-check1-1"].class_name == "class2"
    play.delete("ProvisioningRequestConfig", "config1")
    assert play.requests == {}


def test_h_a_booking_that_expires_before_all_pods_run_is_ignored_after_admission():
    play = Play(*two_checks())
    play.answer("Provisioned")
    assert play.answer("BookingExpired") == []
    assert play.one.state == "admitted"


def test_a_ready_check_without_its_request_stops_its_siblings():
    """The trap of section 3, step 4."""
    play = Play(*two_checks())
    play.answer("Provisioned", request="wl-check1-1")
    play.delete("ProvisioningRequest", "wl-check1-1", "team")
    assert play.answer("Provisioned", request="wl-check2-1") == []
    assert play.check("check2").state == "Pending"


def test_workloads_of_one_name_in_two_namespaces_are_apart():
    other = workload(*STANDARD)
    other["metadata"]["namespace"] = "other"
    local = kueue("LocalQueue", "lq", {"clusterQueue": "cq"}, namespace="other")
    play = Play()
    play.apply(local, other)
    assert set(play.state.requests) == {("team", "wl-check1-1"), ("other", "wl-check1-1")}
    play.finish()
    assert set(play.state.requests) == {("other", "wl-check1-1")}


def local_queue(policy="None"):
    return kueue("LocalQueue", "lq", {"clusterQueue": "cq", "stopPolicy": policy}, namespace="team")


@pytest.mark.parametrize(
    ("kind", "stopped", "running"),
    [
        ("ClusterQueue", queue(stopPolicy="HoldAndDrain"), queue()),
        ("LocalQueue", local_queue("HoldAndDrain"), local_queue()),
    ],
)
def test_a_drained_queue_evicts_admitted_workloads_until_it_goes_on(kind, stopped, running):
    play = Play()
    play.answer("Provisioned")
    assert play.apply(stopped) == [f"EvictedDueTo{kind}Stopped"]
    assert (play.requests, play.one.conditions["Requeued"].status) == ({}, "False")
    assert play.one.conditions["QuotaReserved"].message.endswith("is inactive")
    play.apply(running)
    assert play.one.conditions["Requeued"].reason == f"{kind}Restarted"
    assert set(play.requests) == {"wl-check1-1"}


def test_a_name_that_another_workload_took_is_an_error_without_an_event():
    """Workload ``wl`` with check ``a-b``, and workload ``wl-a`` with check ``b``, ask by one name."""
    play = Play(config(), check("a-b"), check("b"), queue("a-b", "b"))
    taken = set(play.requests)
    log = play.apply(workload(*STANDARD, name="wl-a"))
    assert log.count("") == 2
    assert 'provisioningrequests.autoscaling.x-k8s.io "wl-a-b-1" already exists' in play.messages
    assert play.requests["wl-a-b-1"].owner == "wl"
    assert taken <= set(play.requests)
