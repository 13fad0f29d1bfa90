from hypothesis import HealthCheck, given, settings
from tests.conformance.programs import autocast_programs
from tests.conformance.test_live import assert_the_same, watched
@settings(max_examples=2500, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(source=autocast_programs())
def test_more(watched, source):
    assert_the_same(source, 2e-2)
