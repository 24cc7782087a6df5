import { readFileSync } from 'node:fs';
import { ConsoleSpanSink } from './console-exporter.js';
import { DeliveryReport } from './delivery-report.js';
import { openFileMetricSink, openFileSpanSink } from './file-exporter.js';
import { createMetricReader, MetricOutbox } from './metrics.js';
import { OtlpMetricSink, OtlpSpanSink } from './otlp-exporters.js';
import { OtlpSender } from './otlp-sender.js';
import { OtlpTraceExporterSink } from './otlp-trace-exporter.js';
import { SpanQueue } from './span-queue.js';
export function openBackend(plan, settings, report) {
    const { name, type } = plan.settings;
    const deliveries = new DeliveryReport(plan.facts, report);
    const certificate = readCertificate(plan, report);
    const spans = plan.traces ? spanSink(plan, settings, certificate) : undefined;
    const metrics = plan.metrics ? metricSink(plan, settings, certificate) : undefined;
    const outbox = metrics && new MetricOutbox(metrics, plan.temporality, deliveries);
    return {
        name,
        type,
        report: deliveries,
        ...(spans ? { queue: new SpanQueue(spans, settings.batch, deliveries) } : {}),
        ...(outbox ? { outbox, reader: createMetricReader(outbox, settings.metricsIntervalMillis) } : {}),
    };
}
function spanSink(plan, settings, certificate) {
    switch (plan.row.transport) {
        case 'file':
            return openFileSpanSink(plan);
        case 'console':
            return new ConsoleSpanSink(terminal(plan));
        case 'http':
            return otlpSpanSink(plan.protocol, target(plan, settings, 'traces', certificate));
    }
}
function metricSink(plan, settings, certificate) {
    switch (plan.row.transport) {
        case 'file':
            return openFileMetricSink(plan);
        case 'console':
            return undefined;
        case 'http':
            return new OtlpMetricSink(plan.protocol, new OtlpSender(target(plan, settings, 'metrics', certificate)));
    }
}
function otlpSpanSink(protocol, target) {
    return protocol === 'http/json'
        ? new OtlpTraceExporterSink(target)
        : new OtlpSpanSink(protocol, new OtlpSender(target));
}
function target(plan, settings, signal, certificate) {
    const { compression, timeoutMillis } = plan.settings;
    const { exportTimeoutMillis } = settings.batch;
    return {
        url: plan.urls[signal] ?? '',
        headers: { 'user-agent': `hookspan/${settings.version}`, ...plan.headers },
        gzip: compression === 'gzip',
        timeoutMillis: Math.min(timeoutMillis ?? exportTimeoutMillis, exportTimeoutMillis),
        certificate,
    };
}
function terminal(plan) {
    const stream = plan.options['stream'] === 'stderr' ? process.stderr : process.stdout;
    return text => stream.write(text);
}
function readCertificate(plan, report) {
    const path = plan.settings.certificate;
    if (path === undefined)
        return undefined;
    try {
        return readFileSync(path);
    }
    catch (error) {
        const { code } = error;
        report.error(`backend ${plan.settings.name}: certificate ${path} cannot be read (${code}); it is left out. Correct certificate`);
        return undefined;
    }
}
