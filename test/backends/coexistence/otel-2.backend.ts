import { describe } from 'vitest'
import { testCommand } from './command.ts'
import { testEnvironment } from './environment.ts'
import { testHandedIn } from './handed-in.ts'
import { setScene } from './scene.ts'
import { testSideBySide } from './side-by-side.ts'

describe('an application with OpenTelemetry 2', () => {
  const scene = setScene('otel-2')
  testSideBySide(scene)
  testHandedIn(scene)
  testEnvironment(scene)
  testCommand(scene)
})
