/** The record of a webhook or subscription: health, test, figures, deliveries, and why a job has none. */
import type { ComponentProps } from 'react'
import { useMay } from '../../api.ts'
import type { Receiver } from '../../receivers.ts'
import { Deliveries } from './deliveries.tsx'
import { Stats } from './delivery-stats.tsx'
import { HealthNotice } from './health.tsx'
import { TestDelivery } from './test-delivery.tsx'
import { WhyNot } from './why-not.tsx'

type DeliveriesProps = ComponentProps<typeof Deliveries>
type WhyNotProps = ComponentProps<typeof WhyNot>

interface RecordProps {
  receiver: Receiver
  view: WhyNotProps['view'] & ComponentProps<typeof HealthNotice>
  status: DeliveriesProps['status']
  job: WhyNotProps['job']
  onStatus: DeliveriesProps['onStatus']
  onAsk: WhyNotProps['onAsk']
}

export function ReceiverRecord({ receiver, view, status, job, onStatus, onAsk }: RecordProps) {
  const analyst = useMay('analyst')
  return (
    <>
      <HealthNotice {...view} />
      {analyst && <TestDelivery receiver={receiver} />}
      <Stats receiver={receiver} />
      <Deliveries
        receiver={receiver}
        paused={view.breaker.state === 'open' ? view.breaker.until : null}
        status={status}
        onStatus={onStatus}
      />
      <WhyNot receiver={receiver} view={view} job={job} key={job} onAsk={onAsk} />
    </>
  )
}
