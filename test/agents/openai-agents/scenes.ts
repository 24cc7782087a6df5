import type { HostEvent } from '../../../src/agents/host-event.ts'
import { type Call, Scene } from './scene.ts'

const WEATHER: Call = { id: 'call_w', name: 'get_weather', args: { city: 'Paris' } }
const ROME: Call = { id: 'call_r', name: 'get_weather', args: { city: 'Rome' } }
const DELETE: Call = { id: 'call_d', name: 'delete_file', args: { path: '/a' } }
const RESEARCH: Call = { id: 'call_s', name: 'research', args: { input: 'What is it?' } }

type Play = (scene: Scene, trace: string) => void

function inRun(scene: Scene, trace: string, play: (agent: string, task: string) => void): void {
  const { task, agent } = scene.trace(trace).run(trace, 'main')
  play(agent, task)
  scene.endRun(agent, task).endTrace(trace)
}

/** Runs of each kind, a trace each. */
const PLAYS: Readonly<Record<string, Play>> = {
  tools: (scene, trace) =>
    inRun(scene, trace, agent => {
      const loop = scene.loop(trace, agent)
      scene.model(trace, loop, [WEATHER, ROME])
      const [rome, paris] = [scene.startTool(trace, loop, ROME), scene.startTool(trace, loop, WEATHER)]
      scene.end(paris, { output: 'sunny' }).end(rome, { output: 'rain' }).end(loop).model(trace, agent, 'Mixed.')
    }),
  child: (scene, trace) =>
    inRun(scene, trace, agent => {
      scene.model(trace, agent, [RESEARCH])
      const tool = scene.startTool(trace, agent, RESEARCH)
      const child = scene.run(trace, 'researcher', tool)
      scene.model(trace, child.agent, '42').endRun(child.agent, child.task, tool).model(trace, agent, 'It is 42.')
    }),
  handoff: (scene, trace) => {
    const { task, agent } = scene.trace(trace).run(trace, 'main')
    scene.model(trace, agent, [{ id: 'call_t', name: 'transfer_to_billing' }])
    scene.end(scene.start(trace, agent, { type: 'handoff', from_agent: 'main' }), { to_agent: 'billing' }).end(agent)
    const billing = scene.agent(trace, task, 'billing')
    scene.model(trace, billing, 'Refunded.').endRun(billing, task).endTrace(trace)
  },
  approval: (scene, trace) => {
    inRun(scene, trace, agent => scene.model(trace, agent, [DELETE]))
    const { task, agent } = scene.wait(500).run(trace, 'main')
    scene.tool(trace, agent, DELETE).model(trace, agent, 'Deleted.').endRun(agent, task)
  },
  failure: (scene, trace) => {
    const { task, agent } = scene.trace(trace).run(trace, 'main')
    scene.failingModel(trace, agent).fail('Error: 500 on fire', agent, task)
  },
  plain: (scene, trace) => {
    const agent = scene.trace(trace).agent(trace, null, 'main')
    scene.model(trace, agent, [WEATHER]).tool(trace, agent, WEATHER).model(trace, agent, 'Sunny.').end(agent)
    scene.endTrace(trace)
  },
}

export const PLAY_NAMES: readonly string[] = Object.keys(PLAYS)

export function play(name: string, trace: string): readonly HostEvent[] {
  const scene = new Scene()
  PLAYS[name]?.(scene, trace)
  return scene.events
}
