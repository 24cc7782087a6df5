import { idOf, numberOf, peek, textOf } from '../contract/foreign.ts'
import type { HookMeta, HookRecord } from '../contract/index.ts'
import type { HostEvent, HostMachine } from './host-event.ts'
import type { ReceiverAdapter } from './receiver-adapter.ts'

const UNREADABLE = 'unreadable'

/** Endpoint for agents that emit hook records themselves: the body is one record, or a list of them. */
export const hookRecords: ReceiverAdapter = {
  events: ({ body, at }) => (Array.isArray(body) ? body : [body]).map(record => eventOf(record, at)),
}

function eventOf(record: unknown, at: number): HostEvent {
  const context = {
    host: textOf(peek(record, 'host')),
    delivery_id: idOf(peek(record, 'delivery_id')),
    correlation: peek(record, 'correlation'),
  }
  const said = { at: numberOf(peek(record, 'at')) ?? at, data: peek(record, 'payload'), context }
  return { event: textOf(peek(record, 'hook')) ?? UNREADABLE, ...said }
}

/** The machine of all hosts that emit hook records. The core validates their contents. */
export const hookRecordMachine: HostMachine = {
  accept: ({ event, at, data, context }) => {
    const { host, delivery_id, correlation } = (context ?? {}) as HookMeta
    return [{ hook: event, payload: data, at, host, delivery_id, correlation } as HookRecord]
  },
  end: () => [],
}
