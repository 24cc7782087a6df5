import type { Outcome } from '../../../src/guards/chain.ts'
import { createHooks } from '../../../src/guards/create-hooks.ts'
import type { AnyHook } from '../../../src/guards/hook.ts'
import { ALL_CAPABILITIES, type HookIds, HostHooks } from '../../../src/guards/host-hooks.ts'
import type { EventOf, Phase } from '../../../src/guards/phases.ts'
import { calling, EVENTS, inWords } from '../asking.ts'

/** An agent with hooks, step by step. */
export class Agent {
  readonly lines: string[] = []
  readonly hooks: HostHooks
  ids: HookIds = { sessionId: 's1', turnId: 't1' }

  constructor(...hooks: AnyHook[]) {
    const report = (line: string): void => void this.lines.push(line)
    this.hooks = new HostHooks({ host: 'my-agent', hooks: createHooks(hooks), capabilities: ALL_CAPABILITIES, report })
  }

  async ask<P extends Phase>(phase: P, event: Partial<EventOf<P>> = {}): Promise<Outcome<P>> {
    return await this.hooks.run(phase, this.ids, { ...EVENTS[phase], ...event })
  }

  /** What becomes of a call, in words. */
  async call(name: string, args: Readonly<Record<string, unknown>> = {}, id?: string): Promise<string> {
    return inWords(await this.ask('beforeTool', calling(name, args, id)))
  }

  turn(turnId: string, sessionId = 's1'): void {
    this.hooks.endTurn(this.ids)
    this.ids = { sessionId, turnId }
  }
}
