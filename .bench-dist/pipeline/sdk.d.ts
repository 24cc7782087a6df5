export declare function api(): typeof import('@opentelemetry/api');
export declare function core(): typeof import('@opentelemetry/core');
export declare function resources(): typeof import('@opentelemetry/resources');
export declare function conventions(): typeof import('@opentelemetry/semantic-conventions');
export declare function traceSdk(): typeof import('@opentelemetry/sdk-trace-base');
export declare function metricsSdk(): typeof import('@opentelemetry/sdk-metrics');
export declare function traceExporter(): typeof import('@opentelemetry/exporter-trace-otlp-http');
export declare function exporterBase(): typeof import('@opentelemetry/otlp-exporter-base');
export declare function transformer(): typeof import('@opentelemetry/otlp-transformer');
export declare function prometheusExporter(): typeof import('@opentelemetry/exporter-prometheus');
export declare function http(): typeof import('node:http');
export declare function https(): typeof import('node:https');
export declare function zlib(): typeof import('node:zlib');
/** Runs what sends telemetry, so that a host that traces its own HTTP requests does not trace ours. */
export declare function untraced<Result>(run: () => Result): Result;
