"""How many sandboxes at a time."""

import asyncio

from code_env.executors.e2b.sandboxes import Gate


class TestGate:
    def test_it_lets_in_as_many_as_it_may_in_their_order(self):
        async def session():
            gate, order = Gate(2, regrow_s=60), []

            async def visit(number):
                await gate.enter()
                order.append(number)
                await asyncio.sleep(0)
                assert gate.inside <= 2
                gate.leave()

            await asyncio.gather(*[visit(number) for number in range(6)])
            return order, gate.inside

        assert asyncio.run(session()) == ([0, 1, 2, 3, 4, 5], 0)

    def test_who_is_cancelled_while_waiting_takes_no_place(self):
        async def session():
            gate = Gate(1, regrow_s=60)
            await gate.enter()
            waiting = asyncio.create_task(gate.enter())
            next_one = asyncio.create_task(gate.enter())
            await asyncio.sleep(0)
            waiting.cancel()
            gate.leave()
            async with asyncio.timeout(5):
                await next_one
            let_in = asyncio.create_task(gate.enter())
            await asyncio.sleep(0)
            gate.leave()
            let_in.cancel()  # Let in by now, and not told.
            await asyncio.wait({let_in})
            return gate.inside

        assert asyncio.run(session()) == 0

    def test_it_narrows_and_opens_again(self):
        async def session():
            gate = Gate(3, regrow_s=0)
            for _ in range(3):
                await gate.enter()
            gate.narrow(1)
            waiting = [asyncio.create_task(gate.enter()) for _ in range(2)]
            gate.leave()
            gate.leave()
            await asyncio.sleep(0)
            assert not any(task.done() for task in waiting)
            gate.leave()
            await asyncio.sleep(0)
            assert [task.done() for task in waiting] == [True, False]
            gate.found_a_place()
            await asyncio.sleep(0)
            return [task.done() for task in waiting]

        assert asyncio.run(session()) == [True, True]
