import type { HookName } from '../../contract/index.ts'
import { api } from './api.ts'
import { approval } from './approval.ts'
import { auxiliary } from './auxiliary.ts'
import { controlHook } from './control-hook.ts'
import { llm } from './llm.ts'
import { session } from './session.ts'
import type { SpanDefinition } from './span-definition.ts'
import { subagent } from './subagent.ts'
import { tool } from './tool.ts'

// biome-ignore lint/suspicious/noExplicitAny: each row takes its own payloads, and the table holds them all
export type AnyDefinition = SpanDefinition<any, any, any>

/** Effect of a hook on its span. `event`: adds to an open span. `identity`: a session ends or is replaced. */
export type HookPhase = 'start' | 'end' | 'event' | 'identity'

export interface HookPlan {
  readonly definition: AnyDefinition
  readonly phase: HookPhase
}

export const HOOK_PLAN: { readonly [Name in HookName]: HookPlan } = {
  on_session_start: { definition: session, phase: 'start' },
  pre_llm_call: { definition: llm, phase: 'start' },
  pre_api_request: { definition: api, phase: 'start' },
  post_api_request: { definition: api, phase: 'end' },
  api_request_error: { definition: api, phase: 'end' },
  pre_tool_call: { definition: tool, phase: 'start' },
  post_tool_call: { definition: tool, phase: 'end' },
  post_llm_call: { definition: llm, phase: 'end' },
  on_session_end: { definition: session, phase: 'end' },
  on_session_finalize: { definition: session, phase: 'identity' },
  on_session_reset: { definition: session, phase: 'identity' },
  subagent_start: { definition: subagent, phase: 'start' },
  subagent_stop: { definition: subagent, phase: 'end' },
  pre_approval_request: { definition: approval, phase: 'start' },
  post_approval_response: { definition: approval, phase: 'end' },
  on_human_input_request: { definition: approval, phase: 'start' },
  on_human_input_resolved: { definition: approval, phase: 'end' },
  pre_control_hook: { definition: controlHook, phase: 'start' },
  post_control_hook: { definition: controlHook, phase: 'end' },
  pre_auxiliary_call: { definition: auxiliary, phase: 'start' },
  post_auxiliary_call: { definition: auxiliary, phase: 'end' },
  on_stream_start: { definition: api, phase: 'event' },
  on_stream_end: { definition: api, phase: 'event' },
  on_skill_lifecycle: { definition: session, phase: 'event' },
  on_iteration_start: { definition: session, phase: 'event' },
  on_turn_event: { definition: session, phase: 'event' },
  transform_tool_result: { definition: tool, phase: 'event' },
  transform_llm_output: { definition: session, phase: 'event' },
}
