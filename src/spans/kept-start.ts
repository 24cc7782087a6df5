import { peek } from '../contract/foreign.ts'
import type { ApiStart, SpanKindName } from '../contract/index.ts'
import { requestModel } from './request-parameters.ts'
import { SKILL_KEYS } from './skill-evidence.ts'

type Payload = Readonly<Record<string, unknown>>

const REQUEST = ['api_call_count', 'retry_count', 'provider']

/** What of the payload that started a span is asked for again, until the span has ended. */
const KEPT: Readonly<Record<SpanKindName, readonly string[]>> = {
  session: [
    ...['session_type', 'origin', 'run_type', 'platform', 'source', 'trigger'],
    ...['job_id', 'cron_job_id', 'profile', 'agent_name', 'model'],
  ],
  llm: [],
  api: REQUEST,
  auxiliary: REQUEST,
  tool: ['tool_name'],
  approval: ['surface', 'pattern_key', 'kind'],
  subagent: ['child_role', 'child_session_id', 'child_subagent_id'],
  skill: [],
}

/** The payload itself is the host's, who may change it, and can be large: neither is to show in a span that is long open. */
export function keptStart(kind: SpanKindName, payload: Payload): Payload {
  const kept = plainFields(payload, KEPT[kind])
  if (kind === 'tool') kept['args'] = plainFields(peek(payload, 'args'), SKILL_KEYS)
  else if (kind === 'api' || kind === 'auxiliary') kept['model'] = requestModel(payload as ApiStart)
  return kept
}

/** Only of these something is read, where a field should be text or a number. */
function plainFields(holder: unknown, names: readonly string[]): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  for (const name of names) {
    const value = peek(holder, name)
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') fields[name] = value
  }
  return fields
}
