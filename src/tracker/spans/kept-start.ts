import { peek } from '../../contract/foreign.ts'
import type { ApiStart, SpanKindName, ToolStart } from '../../contract/index.ts'
import { requestModel } from './request-parameters.ts'
import { type KeptTool, skillOf } from './skill.ts'

type Payload = Readonly<Record<string, unknown>>

const REQUEST = ['api_call_count', 'retry_count', 'provider', 'base_url']

/** The fields of a starting payload that are read again until the span has ended. */
const KEPT: Readonly<Record<SpanKindName, readonly string[]>> = {
  session: [
    ...['session_type', 'origin', 'run_type', 'platform', 'source', 'trigger'],
    ...['job_id', 'cron_job_id', 'profile', 'agent_name', 'model'],
  ],
  llm: ['model'],
  api: REQUEST,
  auxiliary: REQUEST,
  tool: ['tool_name'],
  approval: ['surface', 'pattern_key', 'kind'],
  hook: ['hook_name', 'hook_phase', 'tool_call_id'],
  subagent: ['child_role', 'child_session_id', 'child_subagent_id'],
  skill: [],
}

/** Copies the fields. The payload belongs to the host, which may change it, and is too large to be held. */
export function keptStart(kind: SpanKindName, payload: Payload): Payload {
  const kept: Record<string, unknown> = {}
  for (const name of KEPT[kind]) {
    const value = peek(payload, name)
    // Other types would not be read.
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') kept[name] = value
  }
  if (kind === 'tool') kept['skill' satisfies keyof KeptTool] = skillOf(payload as ToolStart)
  else if (kind === 'api' || kind === 'auxiliary') kept['model'] = requestModel(payload as ApiStart)
  return kept
}
