import { http, prometheusExporter } from './sdk.js';
/**
 * Serves the metrics for scraping at `/metrics`. The server is ours rather than the exporter's: a connection that a
 * scraper keeps open must not hold the process, and a port that is taken is said in one line.
 */
export function openPrometheus(settings, report) {
    const exporter = new (prometheusExporter().PrometheusExporter)({ preventServerStart: true });
    const server = http().createServer((request, response) => {
        if (isScrape(request))
            exporter.getMetricsRequestHandler(request, response);
        else
            refuse(response);
    });
    server.on('connection', socket => socket.unref());
    server.on('error', error => report.warn(describe(settings, error)));
    server.listen(settings.port, settings.host).unref();
    return { reader: exporter, close: () => closeServer(server) };
}
function isScrape(request) {
    return request.method === 'GET' && request.url?.split('?')[0] === '/metrics';
}
function refuse(response) {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('metrics are at /metrics\n');
}
function closeServer(server) {
    server.close();
    server.closeAllConnections();
}
function describe({ host, port }, error) {
    const code = error.code ?? 'unknown';
    const why = WHY[code] ?? 'the server failed';
    return `prometheus: nothing is served at http://${host}:${port}/metrics: ${why} (${code}); all other export goes on`;
}
const WHY = {
    EADDRINUSE: 'the port is in use, probably by another agent process. Set another prometheus.port, or push metrics to a backend',
    EACCES: 'the port may not be opened. Set a prometheus.port above 1023',
    EADDRNOTAVAIL: 'this machine has no such address. Correct prometheus.host',
    ENOTFOUND: 'the host is not known. Correct prometheus.host',
};
