import { everyFieldMayBeAnything } from './hostile-fields.ts'

everyFieldMayBeAnything('preview')
