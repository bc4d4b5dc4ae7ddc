/**
 * Connections with sslmode=prefer: by TLS where the server has it, else in clear, as libpq has it. The driver gives up
 * at a server without TLS.
 */
import { Client, type ClientConfig } from 'pg'

/** The methods of the driver's connection that its types lack. */
interface Connecting {
  stream: NodeJS.EventEmitter
  /** The settings of TLS; false for a connection in clear. */
  ssl: object | boolean
  connect(port: number | string, host?: string): void
  attachListeners(stream: NodeJS.EventEmitter): void
  emit(event: 'sslconnect'): boolean
}

/** The byte by which a server without TLS answers the request for it. The connection then goes on in clear. */
const NO_TLS = 'N'

/** Lets the connection go on in clear if the server has no TLS. The driver's own listener would end it. */
function goOnInClear(connection: Connecting): void {
  const { stream } = connection
  const [judge] = stream.rawListeners('data') as ((answer: Buffer) => void)[]
  stream.removeAllListeners('data')
  stream.once('data', (answer: Buffer) => {
    if (answer.toString('latin1') !== NO_TLS) return judge!(answer)
    connection.attachListeners(stream)
    // The driver sends the first message of the protocol now.
    connection.emit('sslconnect')
  })
}

export class PreferringClient extends Client {
  constructor(config: ClientConfig) {
    super(config)
    const connection = this.connection as unknown as Connecting
    const begin = connection.connect.bind(connection)
    connection.connect = (port, host) => {
      begin(port, host)
      goOnInClear(connection)
    }
  }
}
