import { type MetricSample } from './pipeline/memory.ts';
import { type StoredSpan } from './viewer/stored-span.ts';
import { type OutlineOptions } from './viewer/tree-outline.ts';
import type { Plugin, PluginOptions } from './wiring/plugin.ts';
export type { MetricSample } from './pipeline/memory.ts';
export type { StoredSpan } from './viewer/stored-span.ts';
export type { OutlineOptions } from './viewer/tree-outline.ts';
export type { Plugin, PluginOptions } from './wiring/plugin.ts';
export interface TestPlugin extends Plugin {
    /** Spans that have ended, in the order of their ends. */
    spans(): readonly StoredSpan[];
    /** All traces as indented text, oldest first, a blank line between two. */
    tree(options?: OutlineOptions): string;
    /** Every series of every instrument, as it stands now. */
    metrics(): Promise<readonly MetricSample[]>;
    /** Lines that a person would have read on stderr. */
    readonly reported: readonly string[];
}
/**
 * A plugin whose configuration is its options alone: no file and no variable is read, nothing is written or sent. Time is
 * the records' own (`at`), so a test says when things happen.
 */
export declare function createTestPlugin(options?: Omit<PluginOptions, 'tracerProvider' | 'meterProvider'>): TestPlugin;
