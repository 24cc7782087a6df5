/**
 * For tests of agents: a plugin that keeps everything in memory, and traces as text that can be compared.
 *
 * @example
 * const plugin = createTestPlugin({ host: 'my-agent' })
 * runMyAgent(plugin)
 * expect(plugin.tree()).toBe('agent OK\n  llm.qwen3 OK')
 */
import { resolveConfig } from './config/resolve.js';
import { createMemoryPipeline } from './pipeline/memory.js';
import { readExportLine } from './viewer/stored-span.js';
import { buildForest } from './viewer/trace-forest.js';
import { outline } from './viewer/tree-outline.js';
import { assemble, outletsOf } from './wiring/create-plugin.js';
import { createDiagnostics } from './wiring/diagnostics.js';
import { pipelineSettings } from './wiring/settings.js';
/**
 * A plugin whose configuration is its options alone: no file and no variable is read, nothing is written or sent. Time is
 * the records' own (`at`), so a test says when things happen.
 */
export function createTestPlugin(options = {}) {
    const { host, ...code } = options;
    const reported = [];
    const report = { ...createDiagnostics(undefined), warn: collect, error: collect };
    function collect(line) {
        reported.push(line);
    }
    const { config, problems } = resolveConfig({ code, env: {}, home: '/nonexistent', hostName: host });
    for (const { message } of problems)
        collect(message);
    const settings = pipelineSettings({ ...config, local_log: false, backends: [] }, {}, '/nonexistent');
    const pipeline = createMemoryPipeline(settings);
    const plugin = assemble(host ?? '', config, outletsOf(pipeline), { env: {}, home: '/nonexistent', isReplay: true }, report);
    const spans = () => pipeline.lines().flatMap(readExportLine);
    return {
        ...plugin,
        spans,
        tree: how => buildForest(spans()).map(tree => outline(tree, how)).join('\n\n'),
        metrics: () => pipeline.samples(),
        reported,
    };
}
