import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { tableOf } from '../../src/hooks/host-hooks.ts'
import type { Able } from '../../src/hooks/index.ts'
import { ABLE as aiSdk } from '../../src/hosts/ai-sdk/hooks.ts'
import { ABLE as claudeAgentSdk } from '../../src/hosts/claude-agent-sdk/hooks.ts'
import { GUARDS } from '../../src/hosts/guards.ts'
import { ABLE as openaiAgents } from '../../src/hosts/openai-agents/hooks.ts'
import { ABLE as openclaw } from '../../src/hosts/openclaw/hooks.ts'
import { ABLE as opencode } from '../../src/hosts/opencode/hooks.ts'
import { ABLE as pi } from '../../src/hosts/pi/hooks.ts'

const PAGE = readFileSync(new URL('../../docs/control-hooks.md', import.meta.url), 'utf8')

/** Each is compared with the real agent by the live suite of that agent. */
const AGENTS: Readonly<Record<string, Able | undefined>> = {
  Pi: pi,
  opencode,
  OpenClaw: openclaw,
  'Claude Agent SDK': claudeAgentSdk,
  'OpenAI Agents SDK': openaiAgents,
  'AI SDK': aiSdk,
  'Claude Code': GUARDS['claude-code']?.able,
  'Qwen Code': GUARDS['qwen']?.able,
  Codex: GUARDS['codex']?.able,
  'Gemini CLI': GUARDS['gemini']?.able,
  Hermes: GUARDS['hermes']?.able,
}
const COLUMNS = ['beforeTurn', 'beforeModel', 'afterModel', 'beforeTool', 'afterTool', 'afterTurn']

test.each(Object.entries(AGENTS))('what hooks can decide in %s is what the page says', (agent, able) => {
  const decided = new Map(
    tableOf(able ?? {}).map(({ phase, decisions }) => [phase as string, decisions.join(', ') || '–']),
  )
  expect(PAGE).toContain(`\n| ${agent} | ${COLUMNS.map(phase => decided.get(phase)).join(' | ')} |\n`)
})
