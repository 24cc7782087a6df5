import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ABLE as aiSdk } from '../../src/agents/ai-sdk/hooks.ts'
import { ABLE as claudeAgentSdk } from '../../src/agents/claude-agent-sdk/hooks.ts'
import { GUARD_PROTOCOLS } from '../../src/agents/guard-protocols.ts'
import { ABLE as openaiAgents } from '../../src/agents/openai-agents/hooks.ts'
import { ABLE as openclaw } from '../../src/agents/openclaw/hooks.ts'
import { ABLE as opencode } from '../../src/agents/opencode/hooks.ts'
import { ABLE as pi } from '../../src/agents/pi/hooks.ts'
import * as builtin from '../../src/guards/builtin/index.ts'
import type { AnyHook, HookContext } from '../../src/guards/hook.ts'
import type { Capabilities } from '../../src/guards/index.ts'
import { type EventOf, PHASE_NAMES, PHASES, type Phase } from '../../src/guards/phases.ts'
import { TOOL_KINDS, type ToolCall } from '../../src/guards/tool-call.ts'
import type { AnyVerdict } from '../../src/guards/verdict.ts'

const PAGE = readFileSync(new URL('../../docs/guards.md', import.meta.url), 'utf8')

/** Each is compared with the real agent by the live suite of that agent. */
const AGENTS: Readonly<Record<string, Capabilities | undefined>> = {
  Pi: pi,
  opencode,
  OpenClaw: openclaw,
  'Claude Agent SDK': claudeAgentSdk,
  'OpenAI Agents SDK': openaiAgents,
  'AI SDK': aiSdk,
  'Claude Code': GUARD_PROTOCOLS['claude-code']?.capabilities,
  'Qwen Code': GUARD_PROTOCOLS['qwen']?.capabilities,
  Codex: GUARD_PROTOCOLS['codex']?.capabilities,
  'Gemini CLI': GUARD_PROTOCOLS['gemini']?.capabilities,
  Hermes: GUARD_PROTOCOLS['hermes']?.capabilities,
}
const COLUMNS = ['beforeTurn', 'beforeModel', 'afterModel', 'beforeTool', 'afterTool', 'afterTurn']

test.each(Object.entries(AGENTS))('lists the decisions that %s supports', (agent, able) => {
  const decided = new Map(Object.entries(able ?? {}).map(([phase, decisions]) => [phase, decisions.join(', ')]))
  expect(PAGE).toContain(`\n| ${agent} | ${COLUMNS.map(phase => decided.get(phase) || '–').join(' | ')} |\n`)
})

/** The rows of the table below these words of its head, cell by cell. */
function rowsBelow(head: string): string[][] {
  const lines = PAGE.slice(PAGE.indexOf(head)).split('\n')
  const end = lines.findIndex(line => !line.startsWith('|'))
  return lines.slice(2, end).map(line =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map(cell => cell.trim()),
  )
}

/** What stands in backticks. */
function named(text: string | undefined): string[] {
  return [...(text ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
}

/** Complete by its type: what a type has and this has not does not compile. */
type Complete<Type> = { readonly [Field in keyof Type]-?: true }

const MEMBERS: Complete<AnyHook> = {
  ...{ name: true, priority: true, decisions: true, observeOnly: true, onFailure: true, timeLimitMillis: true },
  ...{ beforeTurn: true, afterTurn: true, beforeModel: true, afterModel: true, beforeTool: true, afterTool: true },
}
const FIELDS: { readonly [P in Phase]: Complete<EventOf<P>> } = {
  beforeTurn: { prompt: true },
  beforeModel: { model: true, messages: true },
  afterModel: { model: true, text: true, toolCalls: true, usage: true, error: true, attempt: true },
  beforeTool: { tool: true },
  afterTool: { tool: true, result: true, isError: true, attempt: true },
  afterTurn: { answer: true, attempt: true },
}
const CONTEXT: Complete<HookContext> = {
  ...{ host: true, sessionId: true, turnId: true, phase: true, state: true, metadata: true },
  ...{ signal: true, logger: true, traceparent: true },
}
const TOOL: Complete<ToolCall> = {
  ...{ name: true, kind: true, arguments: true, command: true, paths: true, url: true, cwd: true, agentCwd: true },
  id: true,
}
const DECISIONS: { readonly [D in AnyVerdict['decision']]: true } = {
  ...{ pass: true, block: true, rewrite: true, inject: true, retry: true, ask: true },
}

test('lists every member of a guard', () => {
  const rows = rowsBelow('| member of a guard | meaning |')
  expect(rows.flatMap(([member]) => named(member)).sort()).toEqual(Object.keys(MEMBERS).sort())
})

test('lists the event and the decisions of every phase', () => {
  const rows = rowsBelow('| phase | fields of the event | may decide |')
  expect(rows.map(([phase]) => named(phase)[0]).sort()).toEqual([...PHASE_NAMES].sort())
  for (const [phase, event, decided] of rows) {
    const [name] = named(phase) as [Phase]
    const fields = named(event?.replace(/\(.*?\)/g, ''))
    expect([name, ...fields.sort()]).toEqual([name, ...Object.keys(FIELDS[name]).sort()])
    expect([name, ...(decided ?? '').split(', ')]).toEqual([name, ...[...PHASES[name].decisions].slice(1)])
  }
})

test('lists every member of ctx and every field of a tool', () => {
  const namedBelow = (head: string): string[] => rowsBelow(head).flatMap(cells => cells.flatMap(named))
  expect(namedBelow('| member of `ctx` | meaning |')).toEqual(expect.arrayContaining(Object.keys(CONTEXT)))
  const tool = namedBelow('| field of `tool` | meaning |')
  expect(tool).toEqual(expect.arrayContaining([...Object.keys(TOOL), ...TOOL_KINDS]))
})

test('lists every return value of a guard', () => {
  const returned = rowsBelow('| a guard returns | effect |').flatMap(
    ([cell]) => cell?.match(/(?<=`)[a-z]+(?=\()/g) ?? [],
  )
  expect(returned.sort()).toEqual(Object.keys(DECISIONS).sort())
})

test('lists every ready-made guard, with existing options only', () => {
  const rows = rowsBelow('| guard | effect |')
  const onPage = rows.flatMap(([cell]) => [...(cell ?? '').matchAll(/`(\w+)\((?:\{ (.*?) \})?\)`/g)])
  expect(onPage.map(([, name]) => name).sort()).toEqual(Object.keys(builtin).sort())
  for (const [, name = '', options] of onPage) {
    const make = (builtin as unknown as Record<string, (options: object) => unknown>)[name]
    const refused = (): unknown => make?.({ none: 1 })
    for (const option of options?.split(', ') ?? []) expect(refused).toThrow(new RegExp(`[ ,]${option}(?:,|$)`))
  }
})
