import { idOf, isObject, peek, textOf } from '../../contract/foreign.ts'
import type { SpanIds } from '../../index.ts'
import { type Attachment, attachHost } from '../attach.ts'
import { OpencodeMachine } from './events.ts'
import { agentOf } from './requests.ts'
import { type Hooks, type OpencodePlugin, screenReporter } from './types.ts'

export type { ChatInput, Client, Hooks, OpencodePlugin, PluginInput } from './types.ts'

// Never add a second export: opencode calls every export as a plugin, and rejects the module if one is not a function.

/**
 * The plugin for opencode: records turns, model requests, tools, permissions and sub-agents as traces. Options are the keys of
 * `docs/configuration.md`. All hooks return at once except `dispose`, which waits until everything is sent, or for
 * `force_flush_wait_ms`.
 *
 * @example
 * // ~/.config/opencode/plugins/hookspan.js
 * export { HookspanPlugin } from '/path/to/hookspan/dist/agents/opencode/index.js'
 */
export const HookspanPlugin: OpencodePlugin = (input, options = {}) => {
  const attachment = attachHost('opencode', () => new OpencodeMachine(), options)
  attachment.catchErrors(() => {
    const say = screenReporter(input?.client)
    if (say !== undefined) attachment.reportTo(line => attachment.catchErrors(() => say(line)))
  })
  return Promise.resolve(hooksOf(attachment, idOf(peek(input, 'directory')) ?? ''))
}

/**
 * Builds the hooks of one instance: opencode runs an instance of each plugin for each directory. `tool.execute.before` is not
 * registered, because an error in it fails the tool.
 */
function hooksOf(attachment: Attachment, directory: string): Hooks {
  const take = (event: string, data: unknown, output?: unknown): Promise<void> => {
    attachment.handleEvent({ event, at: Date.now(), data, output }, idOf(peek(data, 'sessionID')) ?? directory)
    return Promise.resolve()
  }
  /** Sets the trace context unless the user or another plugin has set one. A shell opened outside a session gets none. */
  const give = (target: unknown, name: string, { session_id, ...tool }: SpanIds): Promise<void> => {
    attachment.catchErrors(() => {
      if (session_id === undefined || !isObject(target) || peek(target, name) !== undefined) return
      const { plugin } = attachment
      const traceparent = plugin.traceparent({ session_id, ...tool }) ?? plugin.traceparent({ session_id })
      if (traceparent !== undefined) Object.assign(target, { [name]: traceparent })
    })
    return Promise.resolve()
  }
  return {
    event: input => {
      const event = peek(input, 'event')
      return take(`event.${textOf(peek(event, 'type')) ?? ''}`, peek(event, 'properties'))
    },
    'chat.message': (input, output) => take('chat.message', input, output),
    'chat.params': (input, output) => take('chat.params', input, output),
    'chat.headers': (input, output) =>
      agentOf(input) === 'title' ? Promise.resolve() : give(peek(output, 'headers'), 'traceparent', idsOf(input)),
    'shell.env': (input, output) => give(peek(output, 'env'), 'TRACEPARENT', idsOf(input)),
    dispose: async () => {
      await take('dispose', { directory })
      await attachment.plugin.flush()
    },
  }
}

function idsOf(input: unknown): SpanIds {
  const session_id = idOf(peek(input, 'sessionID'))
  const tool_call_id = idOf(peek(input, 'callID'))
  return {
    ...(session_id === undefined ? {} : { session_id }),
    ...(tool_call_id === undefined ? {} : { tool_call_id }),
  }
}
