import { elementsOf, isArray, isObject, peek, pickFields } from '../../contract/foreign.ts'
import type { PluginOptions } from '../../index.ts'
import { type Attachment, attachHost, sharedInProcess } from '../attach.ts'
import { namesIn } from '../base/event-machine.ts'
import type { HostEvent } from '../host-event.ts'
import { AGENT_EVENT, OpenClawMachine, STREAMS } from './events.ts'
import type { OpenClawApi, OpenClawHandler, OpenClawPlugin } from './types.ts'
import { LIFELESS_MODES, mayReadConversation, onAgentEvents } from './types.ts'

export type { OpenClawAgentEvent, OpenClawApi, OpenClawHandler, OpenClawPlugin, OpenClawRuntime } from './types.ts'

/** Hooks available to every plugin. They contain no conversation, except for messages about to be persisted. */
const HOOKS = namesIn(`
  model_call_started model_call_ended before_message_write after_tool_call before_compaction after_compaction
  subagent_spawned subagent_ended session_start`)
/** Hooks that require `allowConversationAccess`, and those that may be the last: the host waits briefly for their handlers. */
const CONVERSATION_HOOKS = ['before_model_resolve', 'llm_input', 'llm_output', 'agent_end']
const LAST_HOOKS = ['session_end', 'gateway_stop']

const INPUT_FIELDS = ['runId', 'sessionId', 'provider', 'model', 'systemPrompt', 'prompt', 'historyMessages']

/** Shared by all loads: the host loads a plugin several times into a process, also as several copies of this module. */
const SHARED = Symbol.for('hookspan.openclaw')

interface Shared {
  /** Events already handled, with their hook: the host passes each event to every registered copy. */
  readonly taken: WeakMap<object, string>
  attachment?: Attachment
}

/** Listens for one load of the plugin. Nothing starts before the first event: most loads only inspect the plugin. */
function listen(api: OpenClawApi): void {
  const shared = sharedInProcess<Shared>(SHARED, () => ({ taken: new WeakMap() }))
  const handleEvent = (event: HostEvent, identity: unknown): void => {
    if (isObject(identity)) {
      if (shared.taken.get(identity) === event.event) return
      shared.taken.set(identity, event.event)
    }
    shared.attachment ??= attachHost('openclaw', () => new OpenClawMachine(), optionsOf(api.pluginConfig))
    shared.attachment.handleEvent(event)
  }
  const handlerOf = (hook: string, isLast = false): OpenClawHandler => {
    return (event, context) => {
      const data = hook === 'llm_input' ? withToolNames(event) : event
      handleEvent({ event: hook, at: Date.now(), data, context }, event)
      return isLast ? shared.attachment?.catchErrors(() => shared.attachment?.plugin.flush()) : undefined
    }
  }
  onAgentEvents(api, event => {
    // Partial results of tools, one for each line of a command's output.
    const isUpdate = peek(peek(event, 'data'), 'phase') === 'update'
    if (isUpdate || !STREAMS.has(peek(event, 'stream'))) return
    const data = pickFields(event, ['stream', 'runId', 'data', 'sessionKey', 'sessionId', 'agentId'])
    handleEvent({ event: AGENT_EVENT, at: Date.now(), data }, event)
  })
  const seesConversation = mayReadConversation(api, api.id ?? PLUGIN_ID)
  for (const hook of seesConversation ? [...HOOKS, ...CONVERSATION_HOOKS] : HOOKS) api.on(hook, handlerOf(hook))
  for (const hook of LAST_HOOKS) api.on(hook, handlerOf(hook, true))
}

/** Reduces tools to their names: their instructions are most of the event. */
function withToolNames(event: unknown): unknown {
  if (!isArray(peek(event, 'tools'))) return event
  const tools = elementsOf(peek(event, 'tools')).map(tool => peek(tool, 'name'))
  return { ...pickFields(event, INPUT_FIELDS), tools }
}

function optionsOf(config: unknown): PluginOptions {
  return isObject(config) && !isArray(config) ? config : {}
}

const PLUGIN_ID = 'hookspan'

/**
 * The OpenClaw plugin that records runs.
 *
 * @example
 * // ~/.openclaw/openclaw.json; `hookspan init openclaw` writes it
 * { "plugins": { "load": { "paths": ["/path/to/node_modules/hookspan"] },
 *   "entries": { "hookspan": { "enabled": true, "hooks": { "allowConversationAccess": true } } } } }
 */
const plugin: OpenClawPlugin = {
  id: PLUGIN_ID,
  name: 'hookspan',
  description: 'OpenTelemetry traces and metrics of every run: model calls, tools, sub-agents',
  register(api) {
    if (!LIFELESS_MODES.has(api.registrationMode)) listen(api)
  },
}

// biome-ignore lint/style/noDefaultExport: OpenClaw loads the default export of a plugin.
export default plugin
