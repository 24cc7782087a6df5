import { homedir } from 'node:os';
import { createNoopMeter, ProxyTracerProvider } from '@opentelemetry/api';
import { stateDirectory } from '../config/paths.js';
import { resolveConfig } from '../config/resolve.js';
import { HOOK_NAMES } from '../contract/index.js';
import { Core } from '../core/plugin.js';
import { createPipeline } from '../pipeline/index.js';
import { LABEL } from '../semconv/index.js';
import { createDiagnostics } from './diagnostics.js';
import { shutdownAtExit } from './exit.js';
import { PACKAGE_NAME, PACKAGE_VERSION } from './package-facts.js';
import { coreConfigOf, drawOf, pipelineSettings } from './settings.js';
/**
 * A plugin that records hooks as traces and metrics. Configuration comes from defaults, file, environment and these
 * options, the later ones winning; a value that cannot be used is one line on stderr, never an exception.
 *
 * @example
 * const plugin = createPlugin({ host: 'my-agent', backends: [{ type: 'jaeger' }] })
 * plugin.on('on_session_start', { session_id: 's1', model: 'qwen3' })
 */
export function createPlugin(options = {}) {
    return createPluginIn(options, { env: process.env, home: homedir(), isReplay: false });
}
export function createPluginIn(options, surroundings) {
    const { host, tracerProvider, meterProvider, ...code } = options;
    const { env, home } = surroundings;
    const resolution = resolveConfig({ code: code, env, home, hostName: host });
    const { config } = resolution;
    const report = surroundings.diagnostics ?? createDiagnostics(config.debug ? stateDirectory(env, home) : undefined);
    for (const { message } of resolution.problems)
        report.warn(message);
    if (!config.enabled)
        return switchedOff();
    const outlets = openOutlets({ tracerProvider, meterProvider }, config, surroundings, report);
    return assemble(host ?? '', config, outlets, surroundings, report);
}
function openOutlets(handedIn, config, { env, home }, report) {
    const { tracerProvider, meterProvider } = handedIn;
    if (tracerProvider === undefined && meterProvider === undefined) {
        return outletsOf(createPipeline(pipelineSettings(config, env, home), report));
    }
    // What was not handed in is not recorded, because then nothing may be exported by us.
    const noMeter = { getMeter: createNoopMeter };
    return {
        tracerProvider: tracerProvider ?? new ProxyTracerProvider(),
        meterProvider: meterProvider ?? noMeter,
        pipeline: undefined,
    };
}
export function outletsOf(pipeline) {
    return { tracerProvider: pipeline.tracerProvider, meterProvider: pipeline.meterProvider, pipeline };
}
function exportGauge(pipeline) {
    return result => {
        for (const { name, delivered, dropped } of pipeline?.stats().backends ?? []) {
            result.observe(delivered, { [LABEL.backend]: name, [LABEL.result]: 'delivered' });
            result.observe(dropped, { [LABEL.backend]: name, [LABEL.result]: 'dropped' });
        }
    };
}
/** A plugin from its resolved configuration and its outlets. */
export function assemble(host, config, { tracerProvider, meterProvider, pipeline }, { env, isReplay }, report) {
    const coreOptions = {
        ...coreConfigOf(config, env),
        tracer: tracerProvider.getTracer(PACKAGE_NAME, PACKAGE_VERSION),
        meter: meterProvider.getMeter(PACKAGE_NAME, PACKAGE_VERSION),
        draw: drawOf(config, line => report.warn(line)),
        report,
        host,
        flush: () => pipeline?.flush() ?? Promise.resolve(),
        seedIds: pipeline?.seedIds,
        sweepByClock: !isReplay,
        gauges: { exportSpans: exportGauge(pipeline) },
        now: Date.now,
    };
    const core = new Core(coreOptions);
    let ending;
    const shutdown = () => {
        ending ??= endAll(core, pipeline, forgetExit);
        return ending;
    };
    const forgetExit = isReplay ? () => undefined : shutdownAtExit(shutdown, config.handle_signals);
    return facade(core, pipeline, host, shutdown);
}
async function endAll(core, pipeline, forgetExit) {
    core.endAll();
    forgetExit();
    await pipeline?.shutdown();
}
function facade(core, pipeline, host, shutdown) {
    const on = (hook, payload, meta) => core.on(hook, payload, meta);
    return {
        on,
        handlers: handlersOf(on),
        flush: () => core.flush(),
        shutdown,
        traceparent: ids => core.traceparent(ids, ids.host ?? host),
        stats: () => ({ ...core.stats(), ...(pipeline?.stats() ?? { backends: [] }) }),
    };
}
function handlersOf(on) {
    const handlers = {};
    for (const hook of HOOK_NAMES)
        handlers[hook] = payload => on(hook, payload);
    return handlers;
}
function switchedOff() {
    const nothing = () => undefined;
    return {
        on: nothing,
        handlers: handlersOf(nothing),
        flush: () => Promise.resolve(),
        shutdown: () => Promise.resolve(),
        traceparent: nothing,
        stats: () => ({
            hooks: { ok: 0, ignored: 0, duplicate: 0, error: 0 },
            spansOpen: 0,
            turnsOpen: 0,
            backends: [],
        }),
    };
}
