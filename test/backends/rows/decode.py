"""Reads OTLP requests with the definitions that OpenTelemetry publishes, strictly, and says what is in them.

    decode.py FOLDER    names of files: <protocol>.<signal>.<number>, protocol protobuf or json

Prints one JSON object: the faults, and what each protocol carried.
"""

import base64
import hashlib
import json
import pathlib
import sys

from google.protobuf import json_format, unknown_fields
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

REQUESTS = {
    "traces": trace_service_pb2.ExportTraceServiceRequest,
    "metrics": metrics_service_pb2.ExportMetricsServiceRequest,
}
# In OTLP/JSON these are hexadecimal; the JSON of protobuf has base64 for all bytes.
HEXADECIMAL = {"traceId", "spanId", "parentSpanId"}

faults = []


def with_base64_ids(value):
    if isinstance(value, list):
        return [with_base64_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(bytes.fromhex(item)).decode() if key in HEXADECIMAL else with_base64_ids(item)
        for key, item in value.items()
    }


def read(path):
    protocol, signal, _ = path.name.split(".")
    request = REQUESTS[signal]()
    if protocol == "json":
        # A field that is not of OTLP, a number that is too large and a name of no value are errors.
        json_format.ParseDict(with_base64_ids(json.loads(path.read_bytes())), request)
    else:
        request.ParseFromString(path.read_bytes())
        expect_known(path.name, request)
    return protocol, signal, request


def expect_known(where, message):
    if len(unknown_fields.UnknownFieldSet(message)) > 0:
        faults.append(f"{where}: fields in {message.DESCRIPTOR.name} that OTLP does not have")
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for part in value if field.is_repeated else [value]:
            expect_known(where, part)


def expect(where, what, holds):
    if not holds:
        faults.append(f"{where}: {what}")


def check_attributes(where, attributes):
    keys = [attribute.key for attribute in attributes]
    expect(where, "a key is empty or there twice", all(keys) and len(keys) == len(set(keys)))
    for attribute in attributes:
        expect(where, f"{attribute.key} has no value", attribute.value.WhichOneof("value") is not None)


def check_span(span):
    where = f"span {span.name}"
    expect(where, "ids of another length", len(span.trace_id) == 16 and len(span.span_id) == 8)
    expect(where, "ids of zeros", any(span.trace_id) and any(span.span_id))
    expect(where, "a parent id of another length", len(span.parent_span_id) in (0, 8))
    expect(where, "no name", span.name != "")
    # The default, 0, is a kind that nobody may send.
    expect(where, f"kind {span.kind}", span.kind in trace_pb2.Span.SpanKind.values() and span.kind != 0)
    expect(where, f"status {span.status.code}", span.status.code in trace_pb2.Status.StatusCode.values())
    expect(where, "ends before it starts", 0 < span.start_time_unix_nano <= span.end_time_unix_nano)
    expect(where, "flags that are not those of a trace", span.flags & 0xFF in (0, 1))
    check_attributes(where, span.attributes)
    for event in span.events:
        expect(where, "an event without a name or a time", event.name != "" and event.time_unix_nano > 0)
        check_attributes(f"{where}, event {event.name}", event.attributes)
    for link in span.links:
        expect(where, "a link to ids of another length", len(link.trace_id) == 16 and len(link.span_id) == 8)
        check_attributes(f"{where}, link", link.attributes)


def check_metric(metric):
    where = f"metric {metric.name}"
    kind = metric.WhichOneof("data")
    data = getattr(metric, kind)
    points = list(data.data_points)
    expect(where, "no points", len(points) > 0)
    if kind != "gauge":
        expect(where, "no temporality", data.aggregation_temporality in (1, 2))
    for point in points:
        check_attributes(where, point.attributes)
        expect(where, "no time", point.time_unix_nano > 0)
        if kind == "histogram":
            expect(where, "counts that are not one more than bounds", len(point.bucket_counts) == len(point.explicit_bounds) + 1)
            expect(where, "counts that do not add up", sum(point.bucket_counts) == point.count)
        else:
            expect(where, "a point without a value", point.WhichOneof("value") is not None)
    temporality = None if kind == "gauge" else metrics_pb2.AggregationTemporality.Name(data.aggregation_temporality)
    return {"name": metric.name, "kind": kind, "unit": metric.unit, "temporality": temporality, "points": len(points)}


def described(span, resource):
    # Everything in it: what one protocol carries the other must, too.
    whole = span.SerializeToString(deterministic=True) + resource.SerializeToString(deterministic=True)
    return {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "name": span.name,
        "digest": hashlib.sha256(whole).hexdigest(),
    }


def main(folder):
    found = {protocol: {"requests": 0, "spans": [], "metrics": []} for protocol in ("json", "protobuf")}
    for path in sorted(pathlib.Path(folder).iterdir()):
        protocol, signal, request = read(path)
        carried = found[protocol]
        carried["requests"] += 1
        for group in request.resource_spans if signal == "traces" else request.resource_metrics:
            check_attributes("resource", group.resource.attributes)
            if signal == "traces":
                for span in (span for scope in group.scope_spans for span in scope.spans):
                    check_span(span)
                    carried["spans"].append(described(span, group.resource))
            else:
                metrics = [metric for scope in group.scope_metrics for metric in scope.metrics]
                carried["metrics"].extend(check_metric(metric) for metric in metrics)
    json.dump({"faults": sorted(set(faults)), **found}, sys.stdout)


main(sys.argv[1])
