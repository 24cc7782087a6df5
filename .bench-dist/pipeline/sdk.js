import { createRequire } from 'node:module';
/**
 * The only file that names packages of OpenTelemetry. Each loads when something that needs it is constructed:
 * importing this room costs nothing, and a backend that is not configured is never paid for.
 */
const load = createRequire(import.meta.url);
export function api() {
    return load('@opentelemetry/api');
}
export function core() {
    return load('@opentelemetry/core');
}
export function resources() {
    return load('@opentelemetry/resources');
}
export function conventions() {
    return load('@opentelemetry/semantic-conventions');
}
export function traceSdk() {
    return load('@opentelemetry/sdk-trace-base');
}
export function metricsSdk() {
    return load('@opentelemetry/sdk-metrics');
}
export function traceExporter() {
    return load('@opentelemetry/exporter-trace-otlp-http');
}
export function exporterBase() {
    return load('@opentelemetry/otlp-exporter-base');
}
export function transformer() {
    return load('@opentelemetry/otlp-transformer');
}
export function prometheusExporter() {
    return load('@opentelemetry/exporter-prometheus');
}
export function http() {
    return load('node:http');
}
export function https() {
    return load('node:https');
}
export function zlib() {
    return load('node:zlib');
}
/** Runs what sends telemetry, so that a host that traces its own HTTP requests does not trace ours. */
export function untraced(run) {
    const { context } = api();
    return context.with(core().suppressTracing(context.active()), run);
}
