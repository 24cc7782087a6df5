import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { type ApplicationFolder, installApplication } from '../support/application-folder.ts'
import { Surroundings } from './application.ts'

const PROGRAMS = new URL('programs', import.meta.url)

/** The lines of OpenTelemetry that an application may have. */
export type Line = 'otel-2' | 'otel-3'

/** What each test of an application has: the application, installed once, and surroundings of its own. */
export interface Scene {
  readonly line: Line
  readonly folder: ApplicationFolder
  readonly around: Surroundings
}

export function setScene(line: Line): Scene {
  const scene = { line } as { line: Line; folder: ApplicationFolder; around: Surroundings }
  beforeAll(() => {
    scene.folder = installApplication(line, PROGRAMS)
  })
  afterAll(() => scene.folder?.remove())
  beforeEach(async () => {
    scene.around = await Surroundings.start()
  })
  afterEach(() => scene.around.stop())
  return scene
}
