import { afterAll, beforeAll } from 'vitest'
import type { Traces } from '../live-host.ts'
import { HermesGateway, type Prompt } from './gateway.ts'
import { lived, type Scene } from './scene.ts'
import { RefusingProxy, ScriptedModel } from './scripted-model.ts'
import type { Recorded } from './test-receiver.ts'

const POLL_MILLIS = 50

/** A prompt with these words; the session's name follows them, so that the model server knows it from those of other scenes. */
type Words = Partial<Pick<Prompt, 'history' | 'choice'>> & { readonly text?: string }

/** What a scene can do with the gateway, in a session of its own. */
export interface Acting {
  readonly gateway: HermesGateway
  readonly session: string
  /** A turn, until it has ended. */
  say(words?: Words): Promise<unknown>
  /** Waits until this is true of what was recorded in the scene. */
  until(isThere: (records: readonly Recorded[]) => boolean): Promise<void>
}

export interface GatewayScene extends Omit<Scene, 'act'> {
  /** Default: one prompt. */
  readonly act?: (acting: Acting) => Promise<unknown>
}

/** One gateway for all tests of a file. */
export function gatewayScenes(settings: Readonly<Record<string, unknown>> = {}): (s: GatewayScene) => Promise<Traces> {
  let model: ScriptedModel
  let proxy: RefusingProxy
  let gateway: HermesGateway
  let played = 0
  beforeAll(async () => {
    model = await ScriptedModel.start()
    proxy = await RefusingProxy.start()
    gateway = await HermesGateway.start({ modelUrl: model.url, proxyUrl: proxy.url, settings })
  })
  afterAll(async () => {
    await gateway?.close()
    await proxy?.close()
    await model?.close()
  })
  return async scene => {
    played += 1
    const acting = actingOn(gateway, `${scene.scenario}-${played}`)
    const act = scene.act ?? (() => acting.say())
    return await lived({ hermes: gateway.hermes, model, proxy }, { ...scene, act: () => act(acting) })
  }
}

function actingOn(gateway: HermesGateway, session: string): Acting {
  const before = gateway.hermes.receiver.records.length
  return {
    gateway,
    session,
    say: ({ text = 'Do it', ...words } = {}) => gateway.run({ session, text: `${text}: ${session}`, ...words }),
    async until(isThere) {
      while (!isThere(gateway.hermes.receiver.records.slice(before))) {
        await new Promise(resolve => setTimeout(resolve, POLL_MILLIS))
      }
    },
  }
}
