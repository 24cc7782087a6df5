import type { MetricReader } from '@opentelemetry/sdk-metrics';
import type { PrometheusSettings, Report } from './settings.ts';
export interface PrometheusEndpoint {
    readonly reader: MetricReader;
    close(): void;
}
/**
 * Serves the metrics for scraping at `/metrics`. The server is ours rather than the exporter's: a connection that a
 * scraper keeps open must not hold the process, and a port that is taken is said in one line.
 */
export declare function openPrometheus(settings: PrometheusSettings, report: Report): PrometheusEndpoint;
