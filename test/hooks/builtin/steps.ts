import { createHooks } from '../../../src/hooks/create-hooks.ts'
import type { AnyHook } from '../../../src/hooks/hook.ts'
import type { HookIds } from '../../../src/hooks/hook-trace.ts'
import { ABLE_OF_ALL, HostHooks } from '../../../src/hooks/host-hooks.ts'
import type { Outcome } from '../../../src/hooks/outcome.ts'
import type { EventOf, Phase } from '../../../src/hooks/phases.ts'
import { calling, EVENTS, inWords } from '../asking.ts'

/** An agent with hooks, step by step. */
export class Agent {
  readonly lines: string[] = []
  readonly hooks: HostHooks
  ids: HookIds = { sessionId: 's1', turnId: 't1' }

  constructor(...hooks: AnyHook[]) {
    const report = (line: string): void => void this.lines.push(line)
    this.hooks = new HostHooks({ host: 'my-agent', hooks: createHooks(hooks), able: ABLE_OF_ALL, report })
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
