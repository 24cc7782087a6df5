import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { StoredSpan } from '../../../src/reading/stored-span.ts'
import {
  capture,
  hookspanFolder,
  hostNode,
  isRecording,
  runHost,
  scratchHome,
  type Traces,
  tapFile,
  tracesOf,
} from '../live-host.ts'
import type { HermesHome } from './hermes-home.ts'
import { type Answer, type RefusingProxy, type ScriptedModel, sum, type Tokens } from './scripted-model.ts'
import type { Recorded } from './test-receiver.ts'

/** What a host repeats in each request. */
const REPEATED: ReadonlySet<string> = new Set(['conversation_history', 'request_messages', 'system_prompt', 'messages'])

const SETTLED_MILLIS = 1000

/** What a scene is played on. */
export interface Stage {
  readonly hermes: HermesHome
  readonly model: ScriptedModel
  readonly proxy: RefusingProxy
}

export interface Scene {
  /** Name and line of the fixture that a recording makes of it. */
  readonly scenario: string
  readonly description: string
  readonly answer: Answer
  /** So that everything has been recorded when it is through. */
  readonly act: () => Promise<unknown>
}

/** Has Hermes do it, makes a fixture of it where one is wanted, and compares what was served with what was traced. */
export async function lived({ hermes, model, proxy }: Stage, scene: Scene): Promise<Traces> {
  const before = hermes.receiver.records.length
  model.play(scene.answer)
  await scene.act()
  const records = (await settled(hermes)).slice(before)
  record(hermes, records, scene)
  const traces = await replayed(records)
  expect(proxy.asked).toEqual([])
  expect(tokensOf(traces.spans)).toEqual(model.served)
  expect(totalOnRoots(traces.spans)).toBe(model.served.input + model.served.output)
  expect(traces.tree).not.toMatch(/parent missing|ambiguous|retroactive/)
  return traces
}

/** All that was told, when nothing more comes: Hermes does not wait for the receiver. */
async function settled({ receiver }: HermesHome): Promise<readonly Recorded[]> {
  for (let count = -1; count !== receiver.records.length; ) {
    count = receiver.records.length
    await new Promise(resolve => setTimeout(resolve, SETTLED_MILLIS))
  }
  return receiver.records
}

/** The records through `hookspan replay` of the installed package, as a user would do it. */
async function replayed(records: readonly Recorded[]): Promise<Traces> {
  const home = scratchHome()
  const file = join(home, 'records.jsonl')
  writeFileSync(file, linesOf([{ fixture: { host: 'hermes' } }, ...records]))
  const ended = await runHost(hostNode(), [join(hookspanFolder(), 'dist', 'cli', 'main.js'), 'replay', file], { home })
  expect(ended).toMatchObject({ code: 0 })
  return await tracesOf(home)
}

/** Makes a fixture of the records, where one is wanted. */
function record({ home }: HermesHome, records: readonly Recorded[], { scenario, description }: Scene): void {
  if (!isRecording()) return
  writeFileSync(tapFile(home), linesOf(records.map(lean)))
  capture(home, 'hermes', scenario, description)
}

/** A record without the conversation, which is in it up to four times, and with no more of the tools than their names. */
function lean(record: Recorded): unknown {
  const text = JSON.stringify(record, (key, value: unknown) => {
    if (REPEATED.has(key)) return undefined
    return key === 'tools' && Array.isArray(value) ? value.map(nameOnly) : value
  })
  return JSON.parse(text)
}

function nameOnly(tool: unknown): unknown {
  const { type, function: { name } = {} } = tool as { type?: string; function?: { name?: string } }
  return { type, function: { name } }
}

function linesOf(values: readonly unknown[]): string {
  return values.map(value => `${JSON.stringify(value)}\n`).join('')
}

/** Of all model requests in the traces. */
function tokensOf(spans: readonly StoredSpan[]): Tokens {
  const number = ({ attributes }: StoredSpan, name: string): number => Number(attributes[`gen_ai.usage.${name}`] ?? 0)
  return sum(
    spans.map(span => ({
      input: number(span, 'input_tokens'),
      cacheRead: number(span, 'cache_read.input_tokens'),
      output: number(span, 'output_tokens'),
      reasoning: number(span, 'reasoning.output_tokens'),
    })),
  )
}

/** What the roots say: their own tokens, and those of their sub-agents. */
function totalOnRoots(spans: readonly StoredSpan[]): number {
  return spans
    .filter(({ parentSpanId }) => parentSpanId === undefined)
    .flatMap(({ attributes }) => [
      attributes['hermes.turn.tokens.total'],
      attributes['hermes.turn.subagent_tokens.total'],
    ])
    .reduce<number>((total, tokens) => total + Number(tokens ?? 0), 0)
}
