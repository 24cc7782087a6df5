import type { ChaosBehaviour, ChaosSink } from '../support/chaos-sink.mjs'
import type { Host, HostEnd, HostOptions } from './host.ts'
import type { Patience, Scene } from './scene.ts'

export const OK: ChaosBehaviour = { kind: 'ok' }

/** Light work, a second and a half of it where nothing is in its way; then the host lives on. */
export const WORK: HostOptions = { turns: 22, hooksPerSecond: 300, sessions: 6, end: 'stdin' }

/** One backend, `only`. */
export function configure(scene: Scene, sink: ChaosSink, entry: object = {}, settings: object = {}): void {
  scene.configure([{ name: 'only', endpoint: sink.url, protocol: 'http/json', ...entry }], { ...settings })
}

export async function sinkOf(scene: Scene, behaviour: ChaosBehaviour): Promise<ChaosSink> {
  const sink = await scene.sink(behaviour)
  configure(scene, sink)
  return sink
}

/** A host that does its work, and lives until everything that it told has arrived, or for too long. */
export async function workThrough(
  scene: Scene,
  sinks: readonly ChaosSink[],
  work: HostOptions = WORK,
  patience: Patience = {},
): Promise<{ readonly host: Host; readonly end: HostEnd }> {
  const host = scene.start(work)
  await host.over()
  await scene.settled(sinks, patience)
  return { host, end: await host.finish() }
}

/** Spans that the host says it has lost. */
export function droppedBy(host: Host): number | undefined {
  return host.lastReport?.stats.backends.find(({ name }) => name === 'only')?.dropped
}
